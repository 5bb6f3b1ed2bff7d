import { history } from '../../../../projectors/history/projection.js';
import { projections } from '../../../../projectors/projections.js';
import type { LinklogEvent } from '../../../../schemas/events/catalogue.js';
import { originOf } from '../../../../schemas/events/envelope.js';
import { withoutSecrets } from '../../../../schemas/events/redact.js';
import { partitionCountOf, topics, type TopicName } from '../../../../schemas/events/topics.js';
import { summedUnder } from '../../../../schemas/statistics/summed-visits.js';
import { monthOf, quarterAt } from '../../../../schemas/statistics/calendar.js';
import { spendingOf } from '../../../../schemas/folds/key-meter.js';
import { isEventOfLedgerLink } from '../../../ledger/rebuild/folds.js';
import { readableEvent } from '../../../ledger/readable-events.js';
import { partitionOf } from '../../../event-log/partition.js';
import type { LogRecord } from '../../../event-log/port.js';
import { groupBy } from '../../../platform/collections.js';
import type { FoldedRange } from './folds.js';
import type {
  Difference,
  ExplainedDifference,
  ExplainingEvent,
  Model,
  RowPosition,
} from './report.js';

const { links, visits, accounts, platform, usage } = topics;

const ledgerTables: Readonly<Record<string, readonly TopicName[]>> = {
  links: [links.name, visits.name],
  key_meters: [links.name, usage.name],
  platform: [platform.name],
};

/** The topics of the events that a row may be a fold of. */
const topicsOf = ({ model, table, key }: Difference): readonly TopicName[] => {
  // A table of the runtime.
  if ('topic' in key) return [key['topic'] as TopicName];
  if (model === 'ledger') return ledgerTables[table] ?? [accounts.name];
  return projections.find(({ name }) => name === model)?.topics ?? [];
};

/** Columns with the key of the records that a row is a fold of. */
const subjectColumns = ['subject', 'id', 'alias', 'domain'] as const;

/** The values that the columns of a key have in the rows that an event changes. */
const valuesOf = (
  event: LinklogEvent,
  { model, key }: Difference,
  position: RowPosition,
): Readonly<Record<string, readonly unknown[]>> => {
  const { subject, sequence, time, account = '' } = event;
  const { day, quarter } = quarterAt(Date.parse(time));
  const spending = spendingOf(event);
  const isOfHistory = model === 'history' && !('topic' in key);
  return {
    ...Object.fromEntries(subjectColumns.map((column) => [column, [subject]])),
    key_id: [spending?.keyId ?? subject],
    origin: [originOf(event)],
    sequence: [sequence],
    partition: [isOfHistory ? history.toChange(event, position)?.partition : position.partition],
    account: summedUnder(account, subject),
    day: [day],
    quarter: [quarter],
    month: [monthOf(day), spending?.month],
    // The key of the platform's row.
    only_row: [true],
  };
};

/** Whether a row is a fold of a record: the columns of its key that `valuesOf` knows have values of the event. */
const isFoldOf = (
  difference: Difference,
  position: RowPosition,
  event: LinklogEvent | null,
): boolean => {
  const { model, table, key } = difference;
  if ('record_offset' in key) return position.offset === key['record_offset'];
  if (event === null) return false;
  if (model === 'ledger') {
    if (table === 'links' && !isEventOfLedgerLink(event)) return false;
  } else if (!('topic' in key)) {
    const projection = projections.find(({ name }) => name === model);
    if ((projection?.toChange(event, position) ?? null) === null) return false;
  }
  const values = valuesOf(event, difference, position);
  const known = Object.entries(key).filter(([column]) => column in values);
  return known.length > 0 && known.every(([column, value]) => values[column]?.includes(value));
};

/** The number of first and of last events of a difference that are reported. */
const reportedAtEachEnd = 5;

const toReport = (position: RowPosition, event: LinklogEvent | null): ExplainingEvent => ({
  ...position,
  id: event?.id ?? null,
  type: event?.type ?? null,
  time: event?.time ?? null,
  data: event === null ? null : (withoutSecrets(event) as { readonly data: unknown }).data,
});

class Explanation {
  readonly #topics: readonly TopicName[];
  /** The key of the records; `undefined` if they have several. Other records are not parsed. */
  readonly #key: string | undefined;
  readonly #first: ExplainingEvent[] = [];
  readonly #last: ExplainingEvent[] = [];
  #count = 0;

  constructor(readonly difference: Difference) {
    const { key } = difference;
    this.#topics = topicsOf(difference);
    const column = subjectColumns.find((name) => name in key);
    this.#key = column && String(key[column]);
  }

  mayMatch({ topic, partition }: FoldedRange): boolean {
    const { partition: only = partition } = this.difference.key;
    if (!this.#topics.includes(topic)) return false;
    if (this.#key !== undefined)
      return partitionOf(this.#key, partitionCountOf(topic)) === partition;
    return only === partition;
  }

  add(position: RowPosition, record: LogRecord, readOnce: () => LinklogEvent | null): void {
    if ((this.#key ?? record.key) !== record.key) return;
    const event = readOnce();
    if (!isFoldOf(this.difference, position, event)) return;
    const found = toReport(position, event);
    // An event that is relayed meanwhile is in both the log and the outbox.
    const isRelayed = position.in === 'outbox' && found.id !== null;
    if (isRelayed && this.#reported().some(({ id }) => id === found.id)) return;
    this.#count += 1;
    if (this.#first.length < reportedAtEachEnd) this.#first.push(found);
    else this.#last.push(found);
    if (this.#last.length > reportedAtEachEnd) this.#last.shift();
  }

  result(): ExplainedDifference {
    return { ...this.difference, events: this.#reported(), eventCount: this.#count };
  }

  #reported(): readonly ExplainingEvent[] {
    return [...this.#first, ...this.#last];
  }
}

/** Reads the ranges that the differing models are folds of again. @param rangesOf the ranges of a model */
export const explain = async (
  differences: readonly Difference[],
  rangesOf: (model: Model) => readonly FoldedRange[],
  signal: AbortSignal | undefined,
): Promise<readonly ExplainedDifference[]> => {
  const explanations = differences.map((difference) => new Explanation(difference));
  for (const [model, ofModel] of groupBy(explanations, ({ difference }) => difference.model)) {
    for (const range of rangesOf(model)) {
      const matching = ofModel.filter((explanation) => explanation.mayMatch(range));
      if (matching.length === 0) continue;
      const { in: where, topic, partition } = range;
      for await (const { records } of range.read(range.first)) {
        signal?.throwIfAborted();
        for (const record of records) {
          let event: LinklogEvent | null | undefined;
          const readOnce = () => (event ??= readableEvent(topic, record));
          const position = { in: where, topic, partition, offset: record.offset };
          for (const explanation of matching) explanation.add(position, record, readOnce);
        }
      }
    }
  }
  return explanations.map((explanation) => explanation.result());
};
