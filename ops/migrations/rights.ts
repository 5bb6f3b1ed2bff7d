import { readFileSync } from 'node:fs';
import { projectFile } from '../platform/files/project-file.js';
import { transaction, type Pool } from '../platform/postgres/pool.js';

/**
 * Grants the services' roles their privileges, if the roles exist.
 *
 * @param pool of the owner of the tables
 */
export const grantRights = async (pool: Pool): Promise<void> => {
  const { rows } = await pool.query<{ hasRoles: boolean }>(
    `SELECT to_regrole('linklog_api') IS NOT NULL AS "hasRoles"`,
  );
  if (rows[0]?.hasRoles !== true) return;
  const sql = readFileSync(projectFile('ops', 'migrations', 'rights.sql'), 'utf8');
  await transaction(pool, (tx) => tx.query(sql));
};
