import type { LinklogEvent } from '../../../../schemas/events/catalogue.js';
import { readEvent, UnreadableEvent } from '../../../../schemas/events/codec.js';
import { withoutSecrets } from '../../../../schemas/events/redact.js';
import type { TopicName } from '../../../../schemas/events/topics.js';
import type { EventLog, LogRecord } from '../../../platform/event-log/port.js';
import type { Pool } from '../../../platform/postgres/pool.js';
import { mayHold, patternOf, type Pattern } from './patterns.js';
import { offsetIn, type LogPartition, type FoldPositions } from './fold-positions.js';
import { readLog, readTable } from './records.js';
import type { Difference, ExplainedDifference, ExplainingEvent, Place } from './report.js';

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
  readonly partitions: readonly LogPartition[];
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

  for (const { topic, partition, next } of partitions) {
    const shown = caring(topic, partition).map((explanation) => {
      const checkpoints = positions.checkpoints.get(explanation.difference.model);
      return { explanation, to: checkpoints ? offsetIn(checkpoints, topic, partition) : next };
    });
    const stretch = { topic, partition, from: 0, to: Math.max(0, ...shown.map(({ to }) => to)) };
    for await (const { records } of readLog(log, stretch, () => undefined)) {
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
    for await (const { records } of readTable(pool, stretch, () => undefined)) {
      signal?.throwIfAborted();
      show(shown, { in: end.in, topic, partition }, records);
    }
  }
  return explanations.map((explanation) => explanation.result());
};
