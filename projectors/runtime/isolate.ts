import type { Client } from '../../ops/platform/postgres/pool.js';
import type { DeadLetter } from './dead-letters.js';
import type { ProjectionSchema } from './names.js';
import { isPoison } from './poison.js';
import type { Projection } from './projection.js';
import type { ReadableRecord, Reading } from './readings.js';

/** Applies events so that a failure leaves no trace; the error, if events are to blame for it. */
const attempt = async (
  tx: Client,
  projection: Projection,
  schema: ProjectionSchema,
  readings: readonly ReadableRecord[],
): Promise<Error | null> => {
  await tx.query('SAVEPOINT attempt');
  try {
    await projection.apply(
      tx,
      schema,
      readings.map(({ event }) => event),
    );
    await tx.query('RELEASE SAVEPOINT attempt');
    return null;
  } catch (error) {
    if (!isPoison(error)) throw error;
    // Fails, and so ends the batch, when the connection was the reason after all.
    await tx.query('ROLLBACK TO SAVEPOINT attempt');
    await tx.query('RELEASE SAVEPOINT attempt');
    return error as Error;
  }
};

/**
 * Applies what can be applied of the readings (of one partition, in order, without repeats), all at
 * once if all is well. The rest it returns as dead letters: records that cannot be read, events that
 * make `apply` fail, found by halving, and everything that comes after one of those, or at all, of
 * a `blocked` subject. Adds the subjects that fail to `blocked`.
 *
 * @throws what no event is to blame for
 */
export const applyOrSetAside = async (
  tx: Client,
  projection: Projection,
  schema: ProjectionSchema,
  readings: readonly Reading[],
  blocked: Set<string>,
): Promise<readonly DeadLetter[]> => {
  const letters: DeadLetter[] = [];
  const setAside = (reading: Reading, error: string | null): void => {
    letters.push({ reading, error });
    blocked.add(reading.subject);
  };

  const candidates: ReadableRecord[] = [];
  for (const reading of readings) {
    if ('error' in reading) setAside(reading, reading.error.message);
    else if (blocked.has(reading.subject)) setAside(reading, null);
    else candidates.push(reading);
  }

  const failed = new Set<string>();
  const applyPart = async (part: readonly ReadableRecord[]): Promise<void> => {
    const open = part.filter((reading) => !failed.has(reading.subject));
    for (const reading of part) {
      if (failed.has(reading.subject)) setAside(reading, null);
    }
    if (open.length === 0) return;
    const error = await attempt(tx, projection, schema, open);
    if (error === null) return;
    const [only] = open;
    if (only && open.length === 1) {
      failed.add(only.subject);
      setAside(only, error.message);
      return;
    }
    const middle = Math.ceil(open.length / 2);
    await applyPart(open.slice(0, middle));
    await applyPart(open.slice(middle));
  };
  await applyPart(candidates);
  return letters;
};
