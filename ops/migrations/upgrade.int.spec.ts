import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { emptyDatabase } from '../test/support/database.js';
import { projectFile } from '../platform/files/project-file.js';
import { migrate } from './migrate.js';
import { deferred } from '../platform/concurrency/deferred.js';
import { generation } from '../platform/postgres/generation.js';
import { createPool, transaction } from '../platform/postgres/pool.js';
import { fixture } from '../test/support/fixture.js';
import { collectLogLines } from '../test/support/log-lines.js';
import { eventually, rejection } from '../test/support/waiting.js';

describe('migrations of tables with rows', () => {
  const database = fixture(
    () => emptyDatabase('upgrade'),
    (database) => database.drop(),
    { per: 'test' },
  );

  /** Runs the migrations before `number`. */
  const migrateUpTo = async (number: string): Promise<void> => {
    const { pool } = database;
    await pool.query(`CREATE TABLE public.migrations (
      file text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`);
    const folder = projectFile('ops/migrations');
    const files = readdirSync(folder).filter((file) => /^\d{4}_.*\.sql$/.test(file));
    for (const file of files.sort().filter((name) => name < number)) {
      await pool.query(readFileSync(`${folder}/${file}`, 'utf8'));
      await pool.query('INSERT INTO public.migrations (file) VALUES ($1)', [file]);
    }
  };

  const rowsOf = async (query: string, values: unknown[] = []): Promise<readonly unknown[]> =>
    (await database.pool.query<Record<string, unknown>>(query, values)).rows;

  /** Runs the migrations before `number`, a statement, and the other migrations. */
  const upgrade = async (number: string, statement: string): Promise<void> => {
    await migrateUpTo(number);
    await database.pool.query(statement);
    await migrate(database.pool);
  };

  it('add the scopes of existing keys, and keep their secrets', async () => {
    await upgrade(
      '0033',
      `INSERT INTO ledger.api_keys
       SELECT status, sha256(status::bytea), 'name', 'PRO', 'acme', status, now(), 1, now()
       FROM unnest('{active,inactive,revoked}'::text[]) status`,
    );
    const scopes = ['links:create', 'stats:read', 'qr:read'];
    const common = { scopes, ancestors: [], ends_at: null, same: true };
    expect(
      await rowsOf(
        `SELECT root_id, status, scopes, ancestors, s.ends_at, s.hash = sha256(id::bytea) AS same
         FROM ledger.api_keys JOIN ledger.key_secrets s ON key_id = id ORDER BY id`,
      ),
    ).to.deep.equal([
      { root_id: 'active', status: 'active', ...common },
      { root_id: 'inactive', status: 'suspended', ...common },
      { root_id: 'revoked', status: 'revoked', ...common },
    ]);
  });

  it('give later scopes to keys that were never restricted', async () => {
    const six = 'links:create,links:read,links:write,stats:read,qr:read,keys:manage';
    const restricted = ['links:create,stats:read,qr:read', six.split(',').slice(1).join(), ''];
    const scopes = [six, six.split(',').reverse().join(), ...restricted];
    const values = scopes.map(
      (list, index) =>
        `('key-${index}', 'name', 'PRO', 'acme', 'active', now(), 1, now(), '{${list}}', '{}')`,
    );
    await upgrade(
      '0061',
      `INSERT INTO ledger.api_keys
         (id, name, plan, account, status, created_at, sequence, last_event_at, scopes, ancestors)
       VALUES ${values.join()}`,
    );
    expect(
      await rowsOf(
        `SELECT array_to_string(scopes, ',') AS scopes FROM ledger.api_keys ORDER BY id`,
      ),
    ).to.deep.equal([null, null, ...restricted].map((list) => ({ scopes: list })));
  });

  it('continue after an interruption, with the generation raised from the first step on', async () => {
    await migrateUpTo('0059');
    const { pool } = database;
    // Conflicts with 0064.
    await pool.query('CREATE SCHEMA imports');
    const last = () => rowsOf('SELECT left(max(file), 4) AS last FROM public.migrations');
    expect(await rejection(migrate(pool))).to.include({ code: '42P06' });
    expect(await last()).to.deep.equal([{ last: '0063' }]);
    expect(await rowsOf('SELECT generation FROM public.generation')).to.deep.equal([
      { generation },
    ]);
    await pool.query('DROP SCHEMA imports');
    await migrate(pool);
    expect(await last()).not.to.deep.equal([{ last: '0063' }]);
  });

  it('wait for the locks of running processes, which continue meanwhile', async () => {
    await migrateUpTo('0063');
    const { lines, logger } = collectLogLines();
    const pool = createPool({ url: database.url, name: 'migrate', max: 2, logger });
    const release = deferred();
    const locked = deferred();
    const running = transaction(database.pool, async (tx) => {
      await tx.query('LOCK TABLE projection_stats.links IN ROW EXCLUSIVE MODE');
      locked.resolve();
      await release.promise;
    });
    await locked.promise;
    const migrated = migrate(pool);
    await eventually('the step is repeated', () => lines.length > 0);
    await database.pool.query('DELETE FROM projection_stats.links WHERE false');
    release.resolve();
    await Promise.all([running, migrated]);
    expect(lines[0]).to.include({
      msg: 'a migration waits for the locks of running processes',
      step: '0063_opening_balances.sql',
    });
    await pool.end();
  });
});
