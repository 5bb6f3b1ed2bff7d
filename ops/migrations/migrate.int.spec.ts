import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { createLogger } from '../platform/logging.js';
import { createPool, transaction } from '../platform/postgres/pool.js';
import { deferred } from '../platform/concurrency/deferred.js';
import { projectFile } from '../platform/files/project-file.js';
import { generation } from '../platform/postgres/generation.js';
import { DatabaseTooNew, migrate, requireMigrated } from './migrate.js';
import { databaseFixture, folderFixture } from '../test/support/fixtures.js';
import { collectLogLines } from '../test/support/log-lines.js';
import { launch, mainFile } from '../test/support/process.js';
import { eventually, rejection } from '../test/support/waiting.js';

const logger = createLogger('silent');

const migrationTexts = (): readonly string[] => {
  const folder = projectFile('ops/migrations');
  const files = readdirSync(folder).filter((file) => /^\d{4}_.*\.sql$/.test(file));
  return files.sort().map((file) => readFileSync(`${folder}/${file}`, 'utf8'));
};

describe('migrations', () => {
  const database = databaseFixture('migrations');
  const dataDir = folderFixture();

  const applied = async () => {
    const { rows } = await database.pool.query<{ file: string; applied_at: Date }>(
      'SELECT * FROM public.migrations ORDER BY file',
    );
    return rows;
  };

  /** Reads all relations; the oid of a relation changes if it is created again. */
  const relations = async () => {
    const { rows } = await database.pool.query<{ oid: number; name: string }>(
      `SELECT c.oid, n.nspname || '.' || c.relname AS name
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema' ORDER BY 1`,
    );
    return rows;
  };

  const wipe = () =>
    database.pool.query(`DO $$
      DECLARE schema text;
      BEGIN
        FOR schema IN SELECT nspname FROM pg_namespace
          WHERE nspname NOT LIKE 'pg\\_%' AND nspname NOT IN ('information_schema', 'public')
        LOOP EXECUTE format('DROP SCHEMA %I CASCADE', schema); END LOOP;
        DROP TABLE public.migrations, public.generation, public.processes;
      END $$`);

  it('run once', async () => {
    const before = [await applied(), await relations()];
    expect(before[0]).to.not.be.empty;
    await migrate(database.pool);
    expect([await applied(), await relations()]).to.deep.equal(before);
  });

  it('run once if several processes start concurrently', async () => {
    const files = (await applied()).map(({ file }) => file);
    await wipe();
    const pools = Array.from({ length: 4 }, () =>
      createPool({ url: database.url, name: 'starter', max: 1, logger }),
    );
    await Promise.all(pools.map((pool) => migrate(pool)));
    expect((await applied()).map(({ file }) => file)).to.deep.equal(files);
    const identities = await database.pool.query('SELECT id FROM log.identity');
    expect(identities.rowCount).to.equal(1);
    for (const pool of pools) await pool.end();
  });

  it('reject tables of a later generation, and accept additional migrations of this generation', async () => {
    await database.pool.query(`INSERT INTO public.migrations (file) VALUES ('9999_later.sql')`);
    await migrate(database.pool);
    await requireMigrated(database.pool);
    await database.pool.query('UPDATE public.generation SET generation = generation + 1');
    await database.pool.query(`DELETE FROM public.migrations WHERE file LIKE '0101%'`);
    const before = [await applied(), await relations()];
    const error = await rejection(migrate(database.pool));
    expect(error).to.be.instanceOf(DatabaseTooNew);
    expect((error as Error).message).to.include(`have generation ${generation + 1}`);
    expect([await applied(), await relations()]).to.deep.equal(before);
    await database.pool.query('UPDATE public.generation SET generation = generation - 1');
    await database.pool.query(`DELETE FROM public.migrations WHERE file = '9999_later.sql'`);
    await database.pool.query(`INSERT INTO public.migrations (file) VALUES ('0101_log.sql')`);
  });

  it('state the generation that this build writes', () => {
    const stated = migrationTexts().flatMap((text) => {
      const [, number] = /^-- Generation (\d+): /.exec(text) ?? [];
      return number === undefined ? [] : [Number(number)];
    });
    expect(stated).to.deep.equal(stated.map((_, index) => index + 1));
    expect(stated.at(-1)).to.equal(generation);
  });

  it('are rolled back after a failure', async () => {
    await wipe();
    // Conflicts with a later file, after earlier files have created tables.
    await database.pool.query('CREATE SCHEMA ledger');
    expect(await rejection(migrate(database.pool))).to.include({ code: '42P06' });
    const { rows } = await database.pool.query(`SELECT to_regclass('public.migrations') AS table,
      to_regnamespace('log') AS log`);
    expect(rows).to.deep.equal([{ table: null, log: null }]);
    await database.pool.query('DROP SCHEMA ledger');
    await migrate(database.pool);
  });

  /** Removes what the files from 0104 on created. */
  const removeLast = () =>
    database.pool.query(`DROP SCHEMA delivery CASCADE; DROP SCHEMA imports CASCADE;
      ALTER TABLE archive.streams DROP COLUMN removed;
      ALTER TABLE ledger.links DROP COLUMN code_of;
      ALTER TABLE projection_redirects.links DROP COLUMN options, DROP COLUMN codes, ADD COLUMN rules jsonb,
        ADD COLUMN forward_query boolean;
      ALTER TABLE projection_history.events DROP COLUMN client;
      DROP INDEX ledger.links_short, projection_history.events_time_subject_sequence_idx,
        projection_history.events_account_time_subject_sequence_idx;
      ALTER TABLE ledger.platform DROP COLUMN case_insensitive;
      DROP TABLE log.spools, ledger.domains, ledger.webhooks, ledger.shares, ledger.share_tries, ledger.share_key,
        ledger.people, ledger.roles, ledger.invitations, ledger.utm_templates, projection_redirects.tags;
      DROP INDEX ledger.api_keys_roots, projection_stats.links_by_clicks_clicks_subject_idx;
      ALTER TABLE ledger.api_keys DROP COLUMN created_by;
      ALTER TABLE ledger.console_sessions DROP COLUMN person_id, DROP COLUMN sid, DROP COLUMN id_token;
      DELETE FROM public.migrations WHERE file >= '0104'`);

  it('continue after an interruption, with the generation raised from the first step on', async () => {
    await removeLast();
    await database.pool.query('UPDATE public.generation SET generation = 0; CREATE SCHEMA imports');
    expect(await rejection(migrate(database.pool))).to.include({ code: '42P06' });
    expect((await applied()).at(-1)).to.include({ file: '0104_delivery.sql' });
    const { rows } = await database.pool.query('SELECT generation FROM public.generation');
    expect(rows).to.deep.equal([{ generation }]);
    await database.pool.query('DROP SCHEMA imports');
    await migrate(database.pool);
    expect((await applied()).at(-1)).to.include({ file: '0121_changes_of_links.sql' });
  });

  it('convert rules and forwarded queries to options', async () => {
    await removeLast();
    await database.pool.query(`
      INSERT INTO projection_redirects.links
        (subject, account, url, status, created_at, sequence, rules, forward_query)
      VALUES ('a', 'acme', '', 'active', now(), 1, '[1]', true),
        ('b', 'acme', '', 'active', now(), 1, '[1]', null),
        ('c', 'acme', '', 'active', now(), 1, null, true),
        ('d', 'acme', '', 'active', now(), 1, null, null)`);
    await migrate(database.pool);
    const { rows } = await database.pool.query<{ options: unknown }>(
      'SELECT options FROM projection_redirects.links ORDER BY subject',
    );
    expect(rows.map(({ options }) => options)).to.deep.equal([
      { rules: [1], forwardQuery: true },
      { rules: [1] },
      { forwardQuery: true },
      null,
    ]);
    await database.pool.query('DELETE FROM projection_redirects.links');
  });

  it('count the links of existing tags', async () => {
    await removeLast();
    await database.pool.query(`
      INSERT INTO projection_redirects.links (subject, account, url, status, tags, created_at, sequence)
      SELECT subject, 'acme', '', status, '["x"]', now(), 1
      FROM (VALUES ('a', 'active'), ('b', 'expired'), ('c', 'deleted')) links (subject, status);
      INSERT INTO projection_redirects.link_tags (account, tag, created_at, subject)
      SELECT account, 'x', created_at, subject FROM projection_redirects.links`);
    await migrate(database.pool);
    const { rows } = await database.pool.query('SELECT * FROM projection_redirects.tags');
    expect(rows).to.deep.equal([{ account: 'acme', tag: 'x', links: 2 }]);
  });

  it('wait for the locks of running processes, which continue meanwhile', async () => {
    await removeLast();
    const { lines, logger } = collectLogLines();
    const pool = createPool({ url: database.url, name: 'migrate', max: 2, logger });
    await database.pool.query('DROP TRIGGER generation ON ledger.key_meters');
    const release = deferred();
    const locked = deferred();
    const running = transaction(database.pool, async (tx) => {
      await tx.query('LOCK TABLE ledger.key_meters IN ROW EXCLUSIVE MODE');
      locked.resolve();
      await release.promise;
    });
    await locked.promise;
    const migrated = migrate(pool);
    await eventually('the step is repeated', () => lines.length > 0);
    await database.pool.query('DELETE FROM ledger.key_meters WHERE false');
    release.resolve();
    await Promise.all([running, migrated]);
    expect(lines[0]).to.include({
      msg: 'a migration waits for the locks of running processes',
      step: 'generation.sql',
    });
    await pool.end();
  });

  it('refuse the tables of an unpublished build with one line and exit code 78', async () => {
    await database.pool.query(`DELETE FROM public.migrations WHERE file < '0104';
      INSERT INTO public.migrations (file) VALUES ('0073_import_bounds.sql')`);
    const before = [await applied(), await relations()];
    const env = { DATABASE_URL: database.url, DATA_DIR: dataDir.path };
    const { exitCode, stderr } = await launch(env, [mainFile]).ended;
    expect(stderr).to.match(
      /^linklog: The tables in PostgreSQL are of a build that was never published, and .* \(".* restore"\)\n$/,
    );
    expect(exitCode).to.equal(78);
    expect([await applied(), await relations()]).to.deep.equal(before);
  });
});
