import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { createLogger } from '../platform/logging.js';
import { createPool } from '../platform/postgres/pool.js';
import { rejection } from '../test/support/waiting.js';
import { projectFile } from '../platform/files/project-file.js';
import { generation } from '../platform/postgres/generation.js';
import { DatabaseTooNew, migrate, requireMigrated } from './migrate.js';
import { databaseFixture } from '../test/support/fixtures.js';

const logger = createLogger('silent');

const migrationTexts = (): readonly string[] => {
  const folder = projectFile('ops/migrations');
  const files = readdirSync(folder).filter((file) => /^\d{4}_.*\.sql$/.test(file));
  return files.sort().map((file) => readFileSync(`${folder}/${file}`, 'utf8'));
};

describe('migrations', () => {
  const database = databaseFixture('migrations');

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
    await database.pool.query(`DELETE FROM public.migrations WHERE file LIKE '0001%'`);
    const before = [await applied(), await relations()];
    const error = await rejection(migrate(database.pool));
    expect(error).to.be.instanceOf(DatabaseTooNew);
    expect((error as Error).message).to.include(`have generation ${generation + 1}`);
    expect([await applied(), await relations()]).to.deep.equal(before);
    await database.pool.query('UPDATE public.generation SET generation = generation - 1');
    await database.pool.query(`DELETE FROM public.migrations WHERE file = '9999_later.sql'`);
    await database.pool.query(`INSERT INTO public.migrations (file) VALUES ('0001_log.sql')`);
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
});
