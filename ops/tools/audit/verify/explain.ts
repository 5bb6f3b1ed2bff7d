import type { LinklogEvent } from '../../../../schemas/events/catalogue.js';
import { originOf } from '../../../../schemas/events/envelope.js';
import { withoutSecrets } from '../../../../schemas/events/redact.js';
import { topics, type TopicName } from '../../../../schemas/events/topics.js';
import { summedUnder } from '../../../../schemas/statistics/summed-visits.js';
import { monthOf, quarterAt } from '../../../../schemas/statistics/calendar.js';
import { spendingOf } from '../../../../schemas/folds/key-meter.js';
import { accountsPartition, platformPartition } from '../../../../schemas/read-models/history.js';
import { isEventOfLedgerLink } from '../../../ledger/rebuild/folds.js';
import { readableEvent } from '../../../ledger/readable-events.js';
import { partitionOf } from '../../../event-log/partition.js';
import type { LogRecord } from '../../../event-log/port.js';
import { groupBy } from '../../../platform/group-by.js';
import type { FoldedRange } from './folds.js';
import type {
  Difference,
  ExplainedDifference,
  ExplainingEvent,
  Model,
  RowPosition,
} from './report.js';

interface Pattern {
  readonly topics: readonly TopicName[];
  readonly partition?: number;
  /** The common key of their records, if any. Records with another key are not parsed. */
  readonly key?: string;
  /** By default, all readable events match. */
  readonly matches?: (event: LinklogEvent | null, record: LogRecord) => boolean;
}

const { links, visits, accounts, platform, usage } = topics;

const bySubject = (topic: { readonly name: TopicName }, key: unknown): Pattern => ({
  topics: [topic.name],
  key: String(key),
});

const bySpending = (keyId: unknown, month?: unknown): Pattern => ({
  topics: [links.name, usage.name],
  matches(event) {
    const spending = event && spendingOf(event);
    return spending?.keyId === keyId && (month === undefined || spending?.month === month);
  },
});

/** Differences of a table without a pattern are reported without events. */
const nothing: Pattern = { topics: [] };

/** The visits of a row of statistics: of a link, or of an account in one partition, in a period. */
const byPeriod = (key: Difference['key']): Pattern => ({
  topics: [visits.name],
  ...(key['partition'] !== undefined && { partition: Number(key['partition']) }),
  ...(typeof key['subject'] === 'string' && { key: key['subject'] }),
  matches(event) {
    if (event === null) return false;
    const { day, quarter } = quarterAt(Date.parse(event.time));
    const account = summedUnder(event.account ?? '', event.subject);
    const values = { account, day: [day], quarter: [quarter], month: [monthOf(day)] };
    return Object.entries(values).every(
      ([column, matching]) =>
        key[column] === undefined || matching.some((value) => value === key[column]),
    );
  },
});

/** The pattern of tables of the runtime, and of tables with a row for each link. */
const projectionPattern = (model: Model, table: string, key: Difference['key']): Pattern => {
  const inPartition = {
    topics: [key['topic'] as TopicName],
    partition: Number(key['partition']),
  };
  if (table === 'high_water_marks') {
    return {
      ...inPartition,
      matches: (event) => event !== null && originOf(event) === key['origin'],
    };
  }
  if (table === 'dead_letters') {
    return { ...inPartition, matches: (_event, { offset }) => offset === key['record_offset'] };
  }
  if (model === 'stats') return byPeriod(key);
  return key['subject'] === undefined ? nothing : bySubject(links, key['subject']);
};

const topicOfHistory = (partition: unknown) => {
  if (partition === platformPartition) return topics.platform;
  return partition === accountsPartition ? accounts : links;
};

const patternOf = ({ model, table, key }: Difference): Pattern => {
  switch (`${model}.${table}`) {
    case 'history.events':
      return {
        ...bySubject(topicOfHistory(key['partition']), key['subject']),
        matches: (event) => event?.sequence === key['sequence'],
      };
    case 'quotas.months':
      return bySpending(key['key_id'], key['month']);
    case 'ledger.links':
      return {
        ...bySubject(links, key['subject']),
        topics: [links.name, visits.name],
        matches: (event) => event !== null && isEventOfLedgerLink(event),
      };
    case 'ledger.key_meters':
      return bySpending(key['key_id']);
    case 'ledger.api_keys':
    case 'ledger.webhooks':
      return bySubject(accounts, key['id']);
    case 'ledger.key_secrets':
      return bySubject(accounts, key['key_id']);
    case 'ledger.alias_overrides':
      return bySubject(accounts, key['alias']);
    case 'ledger.domains':
      return bySubject(accounts, key['domain']);
    case 'ledger.platform':
      return { topics: [platform.name] };
    default:
      return model === 'ledger' ? nothing : projectionPattern(model, table, key);
  }
};

const partitionCounts = new Map<TopicName, number>(
  Object.values(topics).map(({ name, partitions }) => [name, partitions]),
);

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
  readonly #pattern: Pattern;
  readonly #first: ExplainingEvent[] = [];
  readonly #last: ExplainingEvent[] = [];
  #count = 0;

  constructor(readonly difference: Difference) {
    this.#pattern = patternOf(difference);
  }

  mayMatch({ topic, partition }: FoldedRange): boolean {
    const { topics: selected, key, partition: only } = this.#pattern;
    if (!selected.includes(topic)) return false;
    if (key === undefined) return (only ?? partition) === partition;
    return partitionOf(key, partitionCounts.get(topic) ?? 1) === partition;
  }

  /** Adds the event of a record if it matches. */
  add(position: RowPosition, record: LogRecord, readOnce: () => LinklogEvent | null): void {
    const { key = record.key, matches = (event) => event !== null } = this.#pattern;
    if (key !== record.key) return;
    const event = readOnce();
    if (!matches(event, record)) return;
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
          const readOnce = () => (event ??= readableEvent(record));
          const position = { in: where, topic, partition, offset: record.offset };
          for (const explanation of matching) explanation.add(position, record, readOnce);
        }
      }
    }
  }
  return explanations.map((explanation) => explanation.result());
};
