import type { LinklogEvent } from '../../../../schemas/events/catalogue.js';
import { readEvent, UnreadableEvent } from '../../../../schemas/events/codec.js';
import { originOf } from '../../../../schemas/events/envelope.js';
import { withoutSecrets } from '../../../../schemas/events/redact.js';
import { topics, type TopicName } from '../../../../schemas/events/topics.js';
import { summedUnder } from '../../../../schemas/statistics/summed-visits.js';
import { monthOf, quarterAt } from '../../../../schemas/statistics/calendar.js';
import { spendingOf } from '../../../../schemas/folds/key-meter.js';
import { accountsPartition, platformPartition } from '../../../../schemas/read-models/history.js';
import { isLimitedVisit } from '../../../ledger/rebuild/folds.js';
import { partitionOf } from '../../../event-log/partition.js';
import type { EventLog, LogRecord } from '../../../event-log/port.js';
import type { Pool } from '../../../platform/postgres/pool.js';
import { offsetIn, readTable, type FoldPositions, type OffsetRange } from './reading.js';
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
  readonly matches: (event: LinklogEvent | null, record: LogRecord) => boolean;
}

const { links, visits, accounts, platform, usage } = topics;

const bySubject = (topic: { readonly name: TopicName }, key: unknown): Pattern => ({
  topics: [topic.name],
  key: String(key),
  matches: (event) => event !== null,
});

const bySpending = (keyId: unknown, month?: unknown): Pattern => ({
  topics: [links.name, usage.name],
  matches(event) {
    const spending = event && spendingOf(event);
    return spending?.keyId === keyId && (month === undefined || spending?.month === month);
  },
});

/** Differences of a table without a pattern are reported without events. */
const nothing: Pattern = { topics: [], matches: () => false };

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

/** For the tables of the runtime, and tables with a row for each link. */
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
        matches: (event) =>
          event !== null && (event.type !== 'linklog.LinkVisited.v3' || isLimitedVisit(event)),
      };
    case 'ledger.key_meters':
      return bySpending(key['key_id']);
    case 'ledger.api_keys':
      return bySubject(accounts, key['id']);
    case 'ledger.key_secrets':
      return bySubject(accounts, key['key_id']);
    case 'ledger.alias_overrides':
      return bySubject(accounts, key['alias']);
    case 'ledger.domains':
      return bySubject(accounts, key['domain']);
    case 'ledger.webhooks':
      return bySubject(accounts, key['id']);
    case 'ledger.platform':
      return { topics: [platform.name], matches: (event) => event !== null };
    default:
      return model === 'ledger' ? nothing : projectionPattern(model, table, key);
  }
};

const partitionCounts = new Map<TopicName, number>(
  Object.values(topics).map(({ name, partitions }) => [name, partitions]),
);

/** The number of first and of last events of a difference that are reported. */
const reportedAtEachEnd = 5;

const eventIn = ({ value }: LogRecord): LinklogEvent | null => {
  try {
    return readEvent(value);
  } catch (error) {
    if (error instanceof UnreadableEvent) return null;
    throw error;
  }
};

const toReport = (position: RowPosition, event: LinklogEvent | null): ExplainingEvent => ({
  ...position,
  id: event?.id ?? null,
  type: event?.type ?? null,
  time: event?.time ?? null,
  data: event === null ? null : (withoutSecrets(event) as { readonly data: unknown }).data,
});

class Explanation {
  readonly difference: Difference;
  readonly #pattern: Pattern;
  readonly #first: ExplainingEvent[] = [];
  readonly #last: ExplainingEvent[] = [];
  #count = 0;

  constructor(difference: Difference) {
    this.difference = difference;
    this.#pattern = patternOf(difference);
  }

  mayMatch(topic: TopicName, partition: number): boolean {
    const { topics: selected, key, partition: only } = this.#pattern;
    if (!selected.includes(topic)) return false;
    if (key === undefined) return (only ?? partition) === partition;
    return partitionOf(key, partitionCounts.get(topic) ?? 1) === partition;
  }

  /** Adds the event of a record if it matches. */
  add(position: RowPosition, record: LogRecord, readOnce: () => LinklogEvent | null): void {
    const { key, matches } = this.#pattern;
    if ((key ?? record.key) !== record.key) return;
    const event = readOnce();
    if (!matches(event, record)) return;
    const found = toReport(position, event);
    // An event that is relayed meanwhile is in both the log and the outbox.
    if (
      position.in === 'outbox' &&
      this.#reported().some(({ id }) => id !== null && id === found.id)
    ) {
      return;
    }
    this.#count += 1;
    if (this.#first.length < reportedAtEachEnd) this.#first.push(found);
    else {
      this.#last.push(found);
      if (this.#last.length > reportedAtEachEnd) this.#last.shift();
    }
  }

  result(): ExplainedDifference {
    return { ...this.difference, events: this.#reported(), eventCount: this.#count };
  }

  #reported(): readonly ExplainingEvent[] {
    return [...this.#first, ...this.#last];
  }
}

/** Adds records to explanations, each up to its offset `to`. Parses each record once at most. */
const addRecords = (
  readers: readonly { readonly explanation: Explanation; readonly to: number }[],
  position: Omit<RowPosition, 'offset'>,
  records: readonly LogRecord[],
): void => {
  for (const record of records) {
    const { offset } = record;
    let event: LinklogEvent | null | undefined;
    const readOnce = (): LinklogEvent | null => {
      if (event === undefined) event = eventIn(record);
      return event;
    };
    for (const { explanation, to } of readers) {
      if (offset < to) explanation.add({ ...position, offset }, record, readOnce);
    }
  }
};

interface Compared {
  readonly pool: Pool;
  readonly log: EventLog;
  readonly partitions: readonly OffsetRange[];
  readonly published: ReadonlyMap<number, number>;
  readonly positions: FoldPositions;
  readonly signal: AbortSignal | undefined;
}

export const explain = async (
  { pool, log, partitions, published, positions, signal }: Compared,
  differences: readonly Difference[],
): Promise<readonly ExplainedDifference[]> => {
  const explanations = differences.map((difference) => new Explanation(difference));
  const explanationsOf = (topic: TopicName, partition: number): readonly Explanation[] =>
    explanations.filter((explanation) => explanation.mayMatch(topic, partition));

  for (const { topic, partition, to: end } of partitions) {
    const readers = explanationsOf(topic, partition).map((explanation) => {
      const checkpoints = positions.checkpoints.get(explanation.difference.model);
      return { explanation, to: checkpoints ? offsetIn(checkpoints, topic, partition) : end };
    });
    const to = Math.max(0, ...readers.map((reader) => reader.to));
    for await (const { records } of log.read(topic, partition, 0, to)) {
      signal?.throwIfAborted();
      addRecords(readers, { in: 'log', topic, partition }, records);
    }
  }
  for (const end of positions.table) {
    const { topic, partition, next } = end;
    const readers = explanationsOf(topic, partition)
      .filter(({ difference }) => difference.model === 'ledger')
      .map((explanation) => ({ explanation, to: next }));
    if (readers.length === 0) continue;
    const range = { ...end, from: published.get(end.partitionId) ?? 0, to: next };
    for await (const { records } of readTable(pool, range)) {
      signal?.throwIfAborted();
      addRecords(readers, { in: end.in, topic, partition }, records);
    }
  }
  return explanations.map((explanation) => explanation.result());
};
