import type { Client } from '../../ops/platform/postgres/pool.js';
import { originOf } from '../../schemas/events/envelope.js';
import type { TopicName } from '../../schemas/events/topics.js';
import type { ProjectionSchema } from './names.js';
import type { ReadableRecord, Reading } from './readings.js';

/** The highest sequence seen of each origin, in one partition. */
export type HighWaterMarks = Map<string, number>;

const isReadable = (reading: Reading): reading is ReadableRecord => 'event' in reading;

/** The marks of the readings' origins, so far as they have any. */
export const readHighWaterMarks = async (
  tx: Client,
  schema: ProjectionSchema,
  topic: TopicName,
  partition: number,
  readings: readonly Reading[],
): Promise<HighWaterMarks> => {
  const origins = new Set(readings.filter(isReadable).map(({ event }) => originOf(event)));
  const { rows } = await tx.query<{ origin: string; sequence: number }>(
    `SELECT origin, sequence FROM ${schema}.high_water_marks
     WHERE topic = $1 AND partition = $2 AND origin = ANY ($3::text[])`,
    [topic, partition, [...origins]],
  );
  return new Map(rows.map(({ origin, sequence }) => [origin, sequence]));
};

/**
 * The readings without repeats, and the marks after them. First occurrences ascend, so what is not
 * above its origin's mark was there before. A record that cannot be read has no sequence and stays.
 */
export const dropRepeats = (
  readings: readonly Reading[],
  marks: ReadonlyMap<string, number>,
): { readonly fresh: readonly Reading[]; readonly raised: HighWaterMarks } => {
  const raised: HighWaterMarks = new Map();
  const fresh = readings.filter((reading) => {
    if (!isReadable(reading)) return true;
    const { event } = reading;
    const origin = originOf(event);
    const mark = raised.get(origin) ?? marks.get(origin) ?? 0;
    if (event.sequence <= mark) return false;
    raised.set(origin, event.sequence);
    return true;
  });
  return { fresh, raised };
};

/** Writes raised marks; one is never lowered. */
export const writeHighWaterMarks = async (
  tx: Client,
  schema: ProjectionSchema,
  topic: TopicName,
  partition: number,
  raised: HighWaterMarks,
): Promise<void> => {
  if (raised.size === 0) return;
  await tx.query(
    `INSERT INTO ${schema}.high_water_marks AS m (topic, partition, origin, sequence)
     SELECT $1, $2, i.origin, i.sequence FROM unnest($3::text[], $4::bigint[]) AS i (origin, sequence)
     ON CONFLICT (topic, partition, origin)
     DO UPDATE SET sequence = greatest(m.sequence, excluded.sequence)`,
    [topic, partition, [...raised.keys()], [...raised.values()]],
  );
};
