import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { emptyDatabase } from '../test/support/database.js';
import { recordOf, spooledVisit } from '../../schemas/testing/events.js';
import { lockLinks } from '../ledger/links.js';
import { stats } from '../../projectors/statistics/projection.js';
import { feed } from '../../projectors/testing/harness.js';
import { topics } from '../../schemas/events/topics.js';
import { rebuildDue } from '../../schemas/read-models/rebuild-due.js';
import { projectFile } from '../platform/files/project-file.js';
import { migrate } from './migrate.js';
import { deferred } from '../platform/concurrency/deferred.js';
import { generation } from '../platform/postgres/generation.js';
import { createPool, transaction } from '../platform/postgres/pool.js';
import { fixture } from '../test/support/fixture.js';
import { collectLogLines } from '../test/support/log-lines.js';
import { eventually, rejection } from '../test/support/waiting.js';

const links = topics.links.name;
const visits = topics.visits.name;

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

  const rebuildsDue = (): Promise<readonly unknown[]> =>
    rowsOf(
      `SELECT nspname AS name FROM pg_namespace
       WHERE obj_description(oid, 'pg_namespace') = $1 ORDER BY name`,
      [rebuildDue],
    );
  const isLeft = async (schema: string): Promise<boolean> =>
    (await rowsOf(`SELECT FROM pg_namespace WHERE nspname = $1`, [schema])).length > 0;

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

  it('mark for a rebuild a history without offsets, and drop its previous version', async () => {
    await upgrade(
      '0062',
      `INSERT INTO projection_history.checkpoints (topic, partition, next_offset, log_id)
       VALUES ('${links}', 0, 0, 'a log');
       CREATE SCHEMA projection_history_previous; CREATE TABLE projection_history_previous.a ()`,
    );
    expect(await rebuildsDue()).to.deep.equal([{ name: 'projection_history' }]);
    expect(await isLeft('projection_history_previous')).to.equal(false);
  });

  it('keep the rows of links under the names of their subjects', async () => {
    const document = `'[[],[],[],[],[],[],[]]'`;
    const tables: Readonly<Record<string, string>> = {
      'ledger.links': `(code, key_id, account, sequence, last_event_at, created_at)
        VALUES ('Abc', 'k', 'acme', 1, now(), now())`,
      'ledger.password_tries': `(code, client, checking, checking_until, touched_at)
        VALUES ('Abc', 'c', 1, now(), now())`,
      'projection_redirects.links': `(code, status, url, account, created_at, sequence, title)
        VALUES ('Abc', 'active', 'https://example.com', 'acme', now(), 1, 'A title')`,
      'projection_redirects.link_tags': `(code, account, tag, created_at)
        VALUES ('Abc', 'acme', 'a tag', now())`,
      'projection_history.events': `(code, sequence, time, id, type, data)
        VALUES ('Abc', 1, now(), gen_random_uuid(), 'linklog.LinkCreated.v4', '{}')`,
      'projection_stats.codes': `(code, account, clicks, bots, day, uniques, series, document)
        VALUES ('Abc', 'acme', 40, 1, 20000, 3, '[0,40,1]', ${document})`,
      'projection_stats.links_by_clicks': `(code, account, clicks) VALUES ('Abc', 'acme', 40)`,
      'projection_stats.days': `(code, day, account, clicks, bots, uniques, series, document)
        VALUES ('Abc', 20000, 'acme', 40, 1, 3, '[0,40,1]', ${document})`,
      'projection_stats.quarters': `(code, day, quarter, document)
        VALUES ('Abc', 20000, 3, ${document})`,
      'projection_stats.months': `(code, month, clicks, bots, uniques, document)
        VALUES ('Abc', 600, 40, 1, 3, ${document})`,
      'projection_stats.visitors': `(code, day, visitor) VALUES ('Abc', 20000, 'abc')`,
    };
    const { pool } = database;
    await migrateUpTo('0061');
    for (const [table, values] of Object.entries(tables)) {
      await pool.query(`INSERT INTO ${table} ${values}`);
    }
    await pool.query(
      `INSERT INTO ledger.idempotency (key_id, path, idempotency_key, body_hash, status, answer, codes, created_at)
       VALUES ('k', '/v2/shorten', 'i', 'h', 201, '{}', '{Abc}', now());
       INSERT INTO ledger.safety_scans (name, due_at, past_code) VALUES ('a scan', now(), 'Abc');
       CREATE SCHEMA projection_stats_previous; CREATE TABLE projection_stats_previous.a ()`,
    );
    // Without the columns that later migrations add.
    const readTables = (name: 'code' | 'subject') =>
      Promise.all(
        Object.keys(tables).map((table) =>
          rowsOf(
            `SELECT to_jsonb(t) - '{code,subject,partition,record_offset,traceparent,opening}'::text[] AS row
             FROM ${name === 'code' ? table : table.replace('stats.codes', 'stats.links')} t
             WHERE ${name} = 'Abc'`,
          ),
        ),
      );
    const before = await readTables('code');
    await migrate(pool);
    expect(await readTables('subject')).to.deep.equal(before);
    expect(await rowsOf('SELECT subjects FROM ledger.idempotency')).to.deep.equal([
      { subjects: ['Abc'] },
    ]);
    expect(await rowsOf('SELECT past_subject FROM ledger.safety_scans')).to.deep.include({
      past_subject: 'Abc',
    });
    expect(await rebuildsDue()).to.deep.equal([]);
    expect(await isLeft('projection_stats_previous')).to.equal(false);
    const taken = await lockLinks(pool, ['Abc']);
    expect(taken.get('Abc')).to.include({ status: 'taken', account: 'acme' });
    // A visit continues the statistics.
    await feed(pool, stats).records(visits, [
      recordOf(spooledVisit('Abc', { sequence: 1, account: 'acme' })),
    ]);
    expect(
      await rowsOf(`SELECT clicks FROM projection_stats.links WHERE subject = 'Abc'`),
    ).to.deep.equal([{ clicks: 41 }]);
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
