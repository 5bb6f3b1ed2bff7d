import { setTimeout as sleep } from 'node:timers/promises';
import { readRecord, storable } from '../../../../projectors/runtime/read-record.js';
import { envelope, ledgerSource, spoolSource } from '../../../../schemas/events/envelope.js';
import { topics, type TopicName } from '../../../../schemas/events/topics.js';
import { jsonText } from '../../../platform/parse.js';
import type { Batch, EventLog } from '../../../event-log/port.js';
import { valuesByField, type Client } from '../../../platform/postgres/pool.js';
import type { MissingEvents, Verification } from './report.js';
import { SpoolSequences } from './spool-sequences.js';

/**
 * A spool ships its visits in portions, and a portion is appended to the partitions in sequence, so the last portion may
 * be incomplete in the read ranges. Visits that are still missing after these retries are reported.
 */
const retries = 5;
const pauseMs = 1_000;

const anyEvent = jsonText.pipe(envelope);

type Missing = Verification['missing'];

interface Sequence {
  readonly source: string;
  readonly subject: string;
  readonly sequence: number;
}

/**
 * Returns the sequence of a record. An unreadable event, or one of a later version, is not missing if its envelope is
 * valid. `null` for a record that is not an event of Linklog.
 */
const sequenceOf = (topic: TopicName, record: Batch['records'][number]): Sequence | null => {
  const reading = readRecord(topic, record);
  if ('event' in reading) return reading.event;
  const parsed = anyEvent.safeParse(record.value);
  if (!parsed.success || parsed.data.subject !== record.key) return null;
  const { source, sequence } = parsed.data;
  if (topic !== topics.visits.name && source !== ledgerSource) return null;
  return { source: storable(source), subject: reading.subject, sequence };
};

/**
 * Finds events that are missing from the log. A temporary table stores the sequences of each subject as ranges; spools are
 * counted in memory.
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

  /** Adds records in the order of their partition, with repeats. */
  async add(batch: Batch): Promise<void> {
    const subjectSequences = this.#addVisits(batch);
    if (subjectSequences.length === 0) return;
    await this.client.query({
      name: 'log-sequences-add',
      text: `INSERT INTO pg_temp.log_sequences AS s (topic, subject, seen)
             SELECT $1, subject, range_agg(int8range(sequence, sequence, '[]'))
             FROM unnest($2::text[], $3::bigint[]) AS i (subject, sequence) GROUP BY subject
             ON CONFLICT (topic, subject) DO UPDATE SET seen = s.seen + excluded.seen`,
      values: [batch.topic, ...valuesByField(subjectSequences, 'subject', 'sequence')],
    });
  }

  /** Returns the missing events of subjects, with `limit` origins at most for each topic. */
  async missingOfSubjects(limit: number): Promise<Missing> {
    const missing = `
      SELECT topic, subject AS origin, lower(gaps) AS first,
             (SELECT sum(upper(r) - lower(r)) FROM unnest(gaps) AS r)::bigint AS count
      FROM (SELECT topic, subject,
                   int8multirange(int8range(1, upper(seen))) - seen AS gaps
            FROM pg_temp.log_sequences) s
      WHERE NOT isempty(gaps)`;
    const { rows } = await this.client.query<MissingEvents>(
      `SELECT topic, origin, first, count FROM (
         SELECT *, row_number() OVER (PARTITION BY topic ORDER BY count DESC, origin) AS rank
         FROM (${missing}) l) p
       WHERE rank <= $1 ORDER BY topic, rank`,
      [limit],
    );
    const { rows: totals } = await this.client.query<{ events: number; origins: number }>(
      `SELECT least(coalesce(sum(count), 0), ${Number.MAX_SAFE_INTEGER})::bigint AS events, count(*) AS origins FROM (${missing}) l`,
    );
    return { ...(totals[0] ?? { events: 0, origins: 0 }), reported: rows };
  }

  /** Returns the missing visits of spools, with `limit` spools at most. */
  missingOfSpools(limit: number): Missing {
    const spools = [...this.#spools.missing()].sort((a, b) => b.count - a.count);
    return {
      events: spools.reduce((sum, { count }) => sum + count, 0),
      origins: spools.length,
      reported: spools.slice(0, limit),
    };
  }

  /** Adds what edges have answered, then reads new visits from `nextOffset` on while visits of a spool are missing. */
  async awaitPortions(
    log: Pick<EventLog, 'read' | 'ranges'>,
    nextOffset: (partition: number) => number,
    signal?: AbortSignal,
  ): Promise<void> {
    await this.#expectAcknowledged();
    this.#spools.close();
    const topic = topics.visits.name;
    const next = new Map<number, number>();
    for (let retry = 0; retry < retries && this.#spools.missing().length > 0; retry += 1) {
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

  /** Adds what edges have answered: a spool that was lost has sequences that the log never had. */
  async #expectAcknowledged(): Promise<void> {
    const { rows } = await this.client.query<{ id: string; partition: number; highest: number }>(
      `SELECT id, number - 1 AS partition, highest
       FROM log.spools, unnest(acknowledged) WITH ORDINALITY AS a (highest, number)`,
    );
    for (const { id, partition, highest } of rows) {
      this.#spools.expect(spoolSource(`${id}/${partition}`), highest);
    }
  }

  #addVisits({ topic, partition, records }: Batch): readonly Sequence[] {
    const subjectSequences: Sequence[] = [];
    for (const record of records) {
      const found = sequenceOf(topic, record);
      if (found === null) continue;
      if (found.source === ledgerSource) subjectSequences.push(found);
      else this.#spools.add(partition, found.source, found.sequence);
    }
    return subjectSequences;
  }
}
