import type { PoolClient } from 'pg';
import { readCheckpoints } from './checkpoints.js';
import { ownSchema } from './locks.js';
import { liveSchema, nextSchema, previousSchema, type ProjectionName } from './names.js';
import { transactionOn } from './rebuild-lock.js';

/** What can take the place of the live schema. */
export type ReplacementSchema = ReturnType<
  typeof nextSchema<ProjectionName> | typeof previousSchema<ProjectionName>
>;

/**
 * Renames `schema` to the live one and the live one to `…_previous`, in one transaction.
 *
 * A batch of the live projector resolves the schema's name in each of its statements, so a renaming
 * in the middle of it would put its rows in one schema and its checkpoint in another. Therefore each
 * batch begins by sharing the projection's schema lock, and the swap owns it: batches are wholly
 * before or wholly after. `finish` runs under that lock; it brings `schema` to where live stands.
 */
export const swapIn = async (
  client: PoolClient,
  name: ProjectionName,
  schema: ReplacementSchema,
  finish: () => Promise<void>,
): Promise<void> => {
  const live = liveSchema(name);
  const next = nextSchema(name);
  const previous = previousSchema(name);
  await transactionOn(client, async () => {
    await client.query(ownSchema(name));
    await finish();
    const applied = await readCheckpoints(client, schema);
    for (const { topic, partition, logId, offset } of await readCheckpoints(client, live)) {
      const found = applied.find(
        (other) => other.topic === topic && other.partition === partition && other.logId === logId,
      );
      if (!found || found.offset < offset) {
        throw new Error(
          `${schema} is not at offset ${offset} of ${topic}/${partition} of ${logId}`,
        );
      }
    }
    // Two schemas exchange their names by a third one, which only a broken-off rebuild leaves.
    if (schema === previous) {
      await client.query(`
        DROP SCHEMA IF EXISTS ${next} CASCADE;
        ALTER SCHEMA ${previous} RENAME TO ${next}`);
    }
    await client.query(`
      DROP SCHEMA IF EXISTS ${previous} CASCADE;
      ALTER SCHEMA ${live} RENAME TO ${previous};
      ALTER SCHEMA ${next} RENAME TO ${live}`);
  });
};
