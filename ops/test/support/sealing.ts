import { generateKeyPairSync } from 'node:crypto';
import type { EventLog } from '../../platform/event-log/port.js';
import { createLogger } from '../../platform/logging.js';
import type { Pool } from '../../platform/postgres/pool.js';
import { signerOf, type Signer } from '../../../projectors/seals/signed-checkpoint.js';
import { eventually } from './waiting.js';
import { topicNames } from '../../../schemas/events/topics.js';
import { startSealing, type SealingPace } from '../../../projectors/seals/sealing.js';

/** A signer with a key of its own, which the database knows. */
export const knownSigner = async (pool: Pool): Promise<Signer> => {
  const signer = signerOf(generateKeyPairSync('ed25519').privateKey);
  await pool.query('UPDATE seals.keys SET retired_at = now() WHERE retired_at IS NULL');
  await pool.query('INSERT INTO seals.keys (id, public_key) VALUES ($1, $2)', [
    signer.keyId,
    signer.publicKey.export({ type: 'spki', format: 'pem' }),
  ]);
  return signer;
};

/** Resolves when the chains have all that the log holds, and checkpoints cover all of it. */
export const allSealed = async (pool: Pool, log: EventLog): Promise<void> => {
  let held = 0;
  for (const topic of topicNames) {
    for (const { next } of await log.ranges(topic)) held += next;
  }
  await eventually('all is sealed', async () => {
    const { rows } = await pool.query<{ chained: number; tails: number }>(
      `SELECT coalesce(sum(next_offset), 0)::int AS chained, count(tail_since)::int AS tails
       FROM seals.chains`,
    );
    return rows[0]?.chained === held && rows[0].tails === 0;
  });
};

/** Seals what the log holds, with a checkpoint after so many records of a partition. */
export const sealAll = async (
  deps: { readonly pool: Pool; readonly log: EventLog; readonly signer: Signer },
  pace: SealingPace = { records: 5, ms: 50 },
): Promise<void> => {
  const sealing = await startSealing({ ...deps, pace, logger: createLogger('silent') });
  try {
    await allSealed(deps.pool, deps.log);
  } finally {
    await sealing.stop();
  }
};
