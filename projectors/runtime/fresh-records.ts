import type { Batch, LogRecord } from '../../ops/platform/event-log/port.js';
import { arrayLiteral } from '../../ops/platform/postgres/array-literal.js';
import type { Client } from '../../ops/platform/postgres/pool.js';
import { originOf } from '../../schemas/events/envelope.js';
import { dropRepeats, readHighWaterMarks, type HighWaterMarks } from './high-water-marks.js';
import type { ProjectionSchema, ReadSequences } from './projection.js';
import { readRecords, type IncomingRecord } from './read-record.js';

/** Adds those of `all` to `known` that it has not, and returns them. */
const addNew = (known: Set<string>, all: readonly string[]): readonly string[] => {
  const added = all.filter((one) => {
    const before = known.size;
    return known.add(one).size > before;
  });
  return added;
};

/** Reads the records of a partition's batch, some after the others, and leaves out repeats. */
export class FreshRecords {
  /** By those that were read so far. */
  readonly raised: HighWaterMarks = new Map();
  /** Subjects that have dead letters: their later events are parked. */
  readonly blocked = new Set<string>();
  readonly #marks: HighWaterMarks = new Map();
  #newest: number | null = null;
  readonly #origins = new Set<string>();
  readonly #subjects = new Set<string>();
  /** Whether there is any dead letter of the topic; `null`: not known yet. */
  #hasLetters: boolean | null = null;

  constructor(
    private readonly tx: Client,
    private readonly schema: ProjectionSchema,
    private readonly place: Pick<Batch, 'topic' | 'partition'>,
    private readonly readSequences?: ReadSequences,
  ) {}

  /** @throws UnknownEventType */
  async read(records: readonly LogRecord[]): Promise<readonly IncomingRecord[]> {
    const incoming = readRecords(this.place.topic, records);
    await Promise.all([this.#learnMarks(incoming), this.#learnBlocked(incoming)]);
    const { fresh, raised, newest } = dropRepeats(incoming, this.#marks, this.#newest);
    this.#newest = newest;
    for (const [origin, mark] of raised) {
      this.#marks.set(origin, mark);
      this.raised.set(origin, mark);
    }
    return fresh;
  }

  async #learnMarks(incoming: readonly IncomingRecord[]): Promise<void> {
    const { tx, schema, place } = this;
    const isFirst = this.#origins.size === 0;
    const origins = incoming.flatMap((one) => ('event' in one ? originOf(one.event) : []));
    const asked = addNew(this.#origins, origins);
    if (asked.length === 0) return;
    const [{ marks, newest }, sequences] = await Promise.all([
      readHighWaterMarks(tx, schema, place, asked),
      this.readSequences?.(tx, schema, asked) ?? [],
    ]);
    if (isFirst) this.#newest = newest;
    for (const [origin, mark] of marks) this.#marks.set(origin, mark);
    for (const [origin, sequence] of sequences) {
      if (sequence > (this.#marks.get(origin)?.sequence ?? 0)) {
        this.#marks.set(origin, { sequence, day: null });
      }
    }
  }

  async #learnBlocked(incoming: readonly IncomingRecord[]): Promise<void> {
    const { tx, schema, place } = this;
    // While the transaction has the partition's checkpoint, nobody else adds one of its subjects.
    this.#hasLetters ??= await this.#findsLetters();
    if (!this.#hasLetters) return;
    const asked = addNew(
      this.#subjects,
      incoming.map(({ subject }) => subject),
    );
    if (asked.length === 0) return;
    const { rows } = await tx.query<{ subject: string }>({
      name: `dead-letters-of-${schema}`,
      text: `SELECT DISTINCT subject FROM ${schema}.dead_letters
             WHERE topic = $1 AND subject = ANY ($2::text[])`,
      values: [place.topic, arrayLiteral(asked)],
    });
    for (const { subject } of rows) this.blocked.add(subject);
  }

  async #findsLetters(): Promise<boolean> {
    const { tx, schema, place } = this;
    const { rowCount } = await tx.query({
      name: `any-dead-letter-of-${schema}`,
      text: `SELECT FROM ${schema}.dead_letters WHERE topic = $1 LIMIT 1`,
      values: [place.topic],
    });
    return rowCount !== 0;
  }
}
