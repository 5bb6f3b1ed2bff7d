import type { Pool } from '../platform/postgres/pool.js';

/**
 * Lets a pool act as the owner of the projections if its user is another one, which may do so by SET ROLE only
 * (`ops/migrations/rights.sql`).
 *
 * @param pool without connections yet
 * @param anyPool a pool of the same user
 */
export const actAsProjectionOwner = async (pool: Pool, anyPool: Pool): Promise<void> => {
  const { rows } = await anyPool.query<{ owner: string }>(
    `SELECT quote_ident(pg_get_userbyid(nspowner)) AS owner FROM pg_namespace
     WHERE nspname = 'projection_redirects' AND NOT pg_has_role(nspowner, 'USAGE')`,
  );
  const owner = rows[0]?.owner;
  if (owner === undefined) return;
  pool.on('connect', (client) => {
    // After any failure, the statements that need the role fail, and their errors are reported.
    client.query(`SET ROLE ${owner}`).catch(() => undefined);
  });
};
