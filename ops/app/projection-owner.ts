import type { Pool } from '../platform/postgres/pool.js';

/**
 * Lets the connections of `pool`, which has none yet, act as the owner of the projections. A user without the owner's
 * privileges may do so by SET ROLE only (`ops/migrations/rights.sql`). `queryPool` has the same user.
 */
export const actAsProjectionOwner = async (pool: Pool, queryPool: Pool): Promise<void> => {
  const { rows } = await queryPool.query<{ owner: string }>(
    `SELECT quote_ident(pg_get_userbyid(nspowner)) AS owner FROM pg_namespace
     WHERE nspname = 'projection_redirects' AND NOT pg_has_role(nspowner, 'USAGE')`,
  );
  const owner = rows[0]?.owner;
  if (owner === undefined) return;
  pool.on('connect', (client) => {
    // If SET ROLE fails, each statement that needs the role fails too, and its error is reported.
    client.query(`SET ROLE ${owner}`).catch(() => undefined);
  });
};
