import { DependencyFault } from '../dependency-fault.js';
import { withConnection, type Pool } from './pool.js';

/** @throws DependencyFault with SQLSTATE 25006 on a standby, or if `default_transaction_read_only` is set */
export const requireWritable = (pool: Pool): Promise<void> =>
  withConnection(pool, async (client) => {
    const { rows } = await client.query<{ readOnly: boolean }>(
      `SELECT current_setting('transaction_read_only')::boolean AS "readOnly"`,
    );
    if (rows[0]?.readOnly === true) throw new DependencyFault('25006', 'postgres is read-only');
  });
