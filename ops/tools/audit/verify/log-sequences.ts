import { setTimeout as sleep } from 'node:timers/promises';
import { readRecord, storable } from '../../../../projectors/runtime/read-record.js';
import { envelope, ledgerSource } from '../../../../schemas/events/envelope.js';
import { topics, type TopicName } from '../../../../schemas/events/topics.js';
import { jsonText } from '../../../platform/json.js';
import type { Batch, EventLog } from '../../../event-log/port.js';
import { valuesByField, type Client } from '../../../platform/postgres/pool.js';
import type { MissingEvents, Verification } from './report.js';
import { SpoolSequences } from './spool-sequences.js';

/**
 * A spool ships its visits in portions, and a portion reaches the partitions one by one: the last one may be incomplete
 * at the ends that were read. What is still missing after so many further looks is reported.
 */
const furtherLooks = 5;
const pauseMs = 1_000;

const anyEvent = jsonText.pipe(envelope);

type Missing = Verification['missing'];

interface Sequence {
  readonly source: string;
  readonly subject: string;
  readonly sequence: number;
}

/**
 * The place of a record in the order of its origin. An event that cannot be read, or that a later version wrote, is not
 * missing either as long as its envelope is whole. `null` of a record that is no event of ours.
 */
const sequenceOf = (topic: TopicName, record: Batch['records'][number]): Sequence | null => {
  const incoming = readRecord(topic, record);
  if ('event' in incoming) return incoming.event;
  const parsed = anyEvent.safeParse(record.value);
  if (!parsed.success || parsed.data.subject !== record.key) return null;
  const { source, sequence } = parsed.data;
  if (topic !== topics.visits.name && source !== ledgerSource) return null;
  return { source: storable(source), subject: incoming.subject, sequence };
};

/**
 * Finds events that the log lacks. The sequences of subjects are kept as ranges in a temporary table of the client,
 * one row a subject; of spools, only numbers are kept.
 */
export class LogSequences {
  readonly #spools = new SpoolSequences();

  private constructor(private readonly client: Client) {}

  static async open(client: Client): Promise<LogSequences> {
    await client.query(
      `CREATE TEMPORARY TABLE log_sequences (
         topic text NOT NULL,
         subject text COLLATE "C" NOT NULL,
         seen int8multirange NOT NULL,
         PRIMARY KEY (topic, subject)
       )`,
    );
    return new LogSequences(client);
  }

  /** Adds records in the order of their partition; each may come again. */
  async add(batch: Batch): Promise<void> {
    const ofSubjects = this.#addVisits(batch);
    if (ofSubjects.length === 0) return;
    await this.client.query({
      name: 'log-sequences-add',
      text: `INSERT INTO pg_temp.log_sequences AS s (topic, subject, seen)
             SELECT $1, subject, range_agg(int8range(sequence, sequence, '[]'))
             FROM unnest($2::text[], $3::bigint[]) AS i (subject, sequence) GROUP BY subject
             ON CONFLICT (topic, subject) DO UPDATE SET seen = s.seen + excluded.seen`,
      values: [batch.topic, ...valuesByField(ofSubjects, 'subject', 'sequence')],
    });
  }

  /** The events of subjects that are missing so far, of each topic at most `limit` origins. */
  async missingOfSubjects(limit: number): Promise<Missing> {
    const lacking = `
      SELECT topic, subject AS origin, lower(lacks) AS first,
             (SELECT sum(upper(r) - lower(r)) FROM unnest(lacks) AS r)::bigint AS count
      FROM (SELECT topic, subject,
                   int8multirange(int8range(1, upper(seen))) - seen AS lacks
            FROM pg_temp.log_sequences) s
      WHERE NOT isempty(lacks)`;
    const { rows } = await this.client.query<MissingEvents>(
      `SELECT topic, origin, first, count FROM (
         SELECT *, row_number() OVER (PARTITION BY topic ORDER BY count DESC, origin) AS place
         FROM (${lacking}) l) p
       WHERE place <= $1 ORDER BY topic, place`,
      [limit],
    );
    const { rows: totals } = await this.client.query<{ events: number; origins: number }>(
      `SELECT least(coalesce(sum(count), 0), ${Number.MAX_SAFE_INTEGER})::bigint AS events, count(*) AS origins FROM (${lacking}) l`,
    );
    return { ...(totals[0] ?? { events: 0, origins: 0 }), reported: rows };
  }

  /** The visits of spools that are missing so far, of at most `limit` spools. */
  missingOfSpools(limit: number): Missing {
    const spools = [...this.#spools.missing()].sort((a, b) => b.count - a.count);
    return {
      events: spools.reduce((sum, { count }) => sum + count, 0),
      origins: spools.length,
      reported: spools.slice(0, limit),
    };
  }

  /** Reads on in the visits, from where `nextOffset` says, while a spool lacks some. */
  async awaitPortions(
    log: Pick<EventLog, 'read' | 'ranges'>,
    nextOffset: (partition: number) => number,
    signal?: AbortSignal,
  ): Promise<void> {
    this.#spools.close();
    const topic = topics.visits.name;
    const next = new Map<number, number>();
    for (let look = 0; look < furtherLooks && this.#spools.missing().length > 0; look += 1) {
      await sleep(pauseMs, undefined, { signal });
      for (const { partition, next: end } of await log.ranges(topic)) {
        const from = next.get(partition) ?? nextOffset(partition);
        if (from >= end) continue;
        for await (const batch of log.read(topic, partition, from, end)) {
          signal?.throwIfAborted();
          this.#addVisits(batch);
        }
        next.set(partition, end);
      }
    }
  }

  /** Adds the visits that spools have numbered, and returns the other sequences. */
  #addVisits({ topic, partition, records }: Batch): readonly Sequence[] {
    const ofSubjects: Sequence[] = [];
    for (const record of records) {
      const found = sequenceOf(topic, record);
      if (found === null) continue;
      if (found.source === ledgerSource) ofSubjects.push(found);
      else this.#spools.add(partition, found.source, found.sequence);
    }
    return ofSubjects;
  }
}
