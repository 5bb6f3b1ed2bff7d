import type { LinklogEvent } from '../../../../schemas/events/catalogue.js';
import { readEvent, UnreadableEvent } from '../../../../schemas/events/codec.js';
import { originOf } from '../../../../schemas/events/envelope.js';
import { withoutSecrets } from '../../../../schemas/events/redact.js';
import { topics, type TopicName } from '../../../../schemas/events/topics.js';
import { spendingOf } from '../../../../schemas/folds/key-meter.js';
import { isLimitedVisit } from '../../../ledger/rebuild/folds.js';
import { partitionOf } from '../../../platform/event-log/partition.js';
import type { EventLog, LogRecord } from '../../../platform/event-log/port.js';
import type { Pool } from '../../../platform/postgres/pool.js';
import { offsetIn, readTable, type FoldPositions, type Stretch } from './reading.js';
import type { Difference, ExplainedDifference, ExplainingEvent, Place } from './report.js';

/** Which events a row is a fold of. */
interface Pattern {
  readonly topics: readonly TopicName[];
  readonly partition?: number;
  /** The key of their records, where they have one in common: what has another is not even read. */
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

/** The tables that every projection has, and those with a row for each link. */
const ofProjection = (table: string, key: Difference['key']): Pattern | null => {
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
  return key['code'] === undefined ? null : bySubject(links, key['code']);
};

/** Without a pattern, a difference is told all the same. */
const patternOf = ({ model, table, key }: Difference): Pattern | null => {
  switch (`${model}.${table}`) {
    case 'history.events':
      return {
        ...bySubject(links, key['code']),
        matches: (event) => event?.sequence === key['sequence'],
      };
    case 'stats.clicks':
      return bySubject(visits, key['code']);
    case 'quotas.months':
      return bySpending(key['key_id'], key['month']);
    case 'ledger.links':
      return {
        ...bySubject(links, key['code']),
        topics: [links.name, visits.name],
        matches: (event) =>
          event !== null && (event.type !== 'linklog.LinkVisited.v1' || isLimitedVisit(event)),
      };
    case 'ledger.key_meters':
      return bySpending(key['key_id']);
    case 'ledger.api_keys':
      return bySubject(accounts, key['id']);
    case 'ledger.alias_overrides':
      return bySubject(accounts, key['alias']);
    case 'ledger.platform':
      return { topics: [platform.name], matches: (event) => event !== null };
    default:
      return model === 'ledger' ? null : ofProjection(table, key);
  }
};

const partitionCounts = new Map<TopicName, number>(
  Object.values(topics).map(({ name, partitions }) => [name, partitions]),
);

/** Whether a partition may hold events of the pattern. */
const mayHold = (pattern: Pattern, topic: TopicName, partition: number): boolean => {
  if (!pattern.topics.includes(topic)) return false;
  const { key } = pattern;
  const only =
    key === undefined ? pattern.partition : partitionOf(key, partitionCounts.get(topic) ?? 1);
  return (only ?? partition) === partition;
};

/** Of the events of a difference, as many of the first and as many of the last are told. */
const toldOfEachEnd = 5;

const eventIn = ({ value }: LogRecord): LinklogEvent | null => {
  try {
    return readEvent(value);
  } catch (error) {
    if (error instanceof UnreadableEvent) return null;
    throw error;
  }
};

const told = (place: Place, event: LinklogEvent | null): ExplainingEvent => ({
  ...place,
  id: event?.id ?? null,
  type: event?.type ?? null,
  time: event?.time ?? null,
  data: event === null ? null : (withoutSecrets(event) as { readonly data: unknown }).data,
});

/** Finds the events of differences in what it is shown of the log, in its order. */
class Explanation {
  readonly difference: Difference;
  readonly #pattern: Pattern | null;
  readonly #first: ExplainingEvent[] = [];
  readonly #last: ExplainingEvent[] = [];
  #count = 0;

  constructor(difference: Difference) {
    this.difference = difference;
    this.#pattern = patternOf(difference);
  }

  cares(topic: TopicName, partition: number): boolean {
    return this.#pattern !== null && mayHold(this.#pattern, topic, partition);
  }

  /** Shown a record of a partition that it cares for. */
  look(place: Place, record: LogRecord, readOnce: () => LinklogEvent | null): void {
    const pattern = this.#pattern;
    if (!pattern || (pattern.key ?? record.key) !== record.key) return;
    const event = readOnce();
    if (!pattern.matches(event, record)) return;
    const found = told(place, event);
    // What the outbox marks as sent a moment later is met twice.
    if (place.in === 'outbox' && this.#told().some(({ id }) => id !== null && id === found.id)) {
      return;
    }
    this.#count += 1;
    if (this.#first.length < toldOfEachEnd) this.#first.push(found);
    else {
      this.#last.push(found);
      if (this.#last.length > toldOfEachEnd) this.#last.shift();
    }
  }

  result(): ExplainedDifference {
    return { ...this.difference, events: this.#told(), eventCount: this.#count };
  }

  #told(): readonly ExplainingEvent[] {
    return [...this.#first, ...this.#last];
  }
}

/** Who is shown a partition, up to where. */
interface Shown {
  readonly explanation: Explanation;
  readonly to: number;
}

/** Shows records to explanations, each of them read once at most. */
const show = (
  shown: readonly Shown[],
  place: Omit<Place, 'offset'>,
  records: readonly LogRecord[],
): void => {
  for (const record of records) {
    const { offset } = record;
    let event: LinklogEvent | null | undefined;
    const readOnce = (): LinklogEvent | null => {
      if (event === undefined) event = eventIn(record);
      return event;
    };
    for (const { explanation, to } of shown) {
      if (offset < to) explanation.look({ ...place, offset }, record, readOnce);
    }
  }
};

/** What was compared: the log, and from where on the ledger took the table instead. */
interface Compared {
  readonly pool: Pool;
  readonly log: EventLog;
  readonly partitions: readonly Stretch[];
  readonly logged: ReadonlyMap<number, number>;
  readonly positions: FoldPositions;
  readonly signal: AbortSignal | undefined;
}

/** Finds the events that the rows are folds of, in another reading of the partitions that may have them. */
export const explain = async (
  { pool, log, partitions, logged, positions, signal }: Compared,
  differences: readonly Difference[],
): Promise<readonly ExplainedDifference[]> => {
  const explanations = differences.map((difference) => new Explanation(difference));
  const caring = (topic: TopicName, partition: number): readonly Explanation[] =>
    explanations.filter((explanation) => explanation.cares(topic, partition));

  for (const { topic, partition, to: end } of partitions) {
    const shown = caring(topic, partition).map((explanation) => {
      const checkpoints = positions.checkpoints.get(explanation.difference.model);
      return { explanation, to: checkpoints ? offsetIn(checkpoints, topic, partition) : end };
    });
    const to = Math.max(0, ...shown.map((each) => each.to));
    for await (const { records } of log.read(topic, partition, 0, to)) {
      signal?.throwIfAborted();
      show(shown, { in: 'log', topic, partition }, records);
    }
  }
  for (const end of positions.table) {
    const { topic, partition, next } = end;
    const shown = caring(topic, partition)
      .filter(({ difference }) => difference.model === 'ledger')
      .map((explanation) => ({ explanation, to: next }));
    if (shown.length === 0) continue;
    const stretch = { ...end, from: logged.get(end.partitionId) ?? 0, to: next };
    for await (const { records } of readTable(pool, stretch)) {
      signal?.throwIfAborted();
      show(shown, { in: end.in, topic, partition }, records);
    }
  }
  return explanations.map((explanation) => explanation.result());
};
