import { expect } from 'chai';
import pg from 'pg';
import { generation } from '../platform/postgres/generation.js';
import { transaction } from '../platform/postgres/pool.js';
import { deferred } from '../platform/concurrency/deferred.js';
import { cloneSchema } from '../../projectors/runtime/rebuild.js';
import { databaseFixture } from '../test/support/fixtures.js';
import { fixture } from '../test/support/fixture.js';
import { endsWithin, rejection } from '../test/support/waiting.js';

const refused = '57PLG';

/** Each transaction of a service that must be exact writes to one of them. */
const tables = [
  ...['redirects', 'stats', 'history', 'quotas'].flatMap((name) => [
    `projection_${name}.checkpoints`,
    `projection_${name}.dead_letters`,
  ]),
  ...['ledger.key_meters', 'imports.imports', 'delivery.cursors', 'seals.chains'],
  ...['archive.checkpoints', 'log.relayed', 'log.partitions'],
];

describe('migrations: generation of the tables', () => {
  const database = databaseFixture('fence');
  /** A session that states no generation, as those of release 0.2.0. */
  const earlier = fixture(
    async () => {
      const client = new pg.Client({ connectionString: database.url });
      await client.connect();
      return client;
    },
    (client) => client.end(),
  );

  const raise = (to: number): Promise<unknown> =>
    transaction(database.pool, async (tx) => {
      await tx.query('UPDATE public.generation SET generation = $1', [to]);
      await tx.query('SELECT public.fence_tables()');
    });

  const deleteFrom = (client: Pick<pg.ClientBase, 'query'>, table: string): Promise<unknown> =>
    client.query(`DELETE FROM ${table} WHERE false`);

  const expectRefused = async (client: Pick<pg.ClientBase, 'query'>, table: string) => {
    expect(await rejection(deleteFrom(client, table)), table).to.include({ code: refused });
  };

  it('refuses writes of sessions that state none', async () => {
    for (const table of tables) {
      await deleteFrom(database.pool, table);
      await expectRefused(earlier, table);
    }
    const { rows } = await database.pool.query<{ name: string }>(
      `SELECT tgrelid::regclass::text AS name FROM pg_trigger WHERE tgname = 'generation'`,
    );
    expect(rows.map(({ name }) => name)).to.have.members(tables);
  });

  it('refuses writes of this build after a raise, also in the tables of a rebuild', async () => {
    await transaction(database.pool, (tx) =>
      cloneSchema(tx, 'projection_stats', 'projection_stats_next'),
    );
    const cloned = ['checkpoints', 'dead_letters'].map((name) => `projection_stats_next.${name}`);
    for (const table of cloned) await expectRefused(earlier, table);
    await raise(generation + 1);
    for (const table of [...tables, ...cloned]) await expectRefused(database.pool, table);
    await raise(generation);
    for (const table of [...tables, ...cloned]) await deleteFrom(database.pool, table);
    await database.pool.query('DROP SCHEMA projection_stats_next CASCADE');
  });

  it('is raised after the transactions that have written, and before those that wait for it', async () => {
    const [table = ''] = tables;
    const release = deferred();
    const written = deferred();
    const open = transaction(database.pool, async (tx) => {
      await deleteFrom(tx, table);
      written.resolve();
      await release.promise;
    });
    await written.promise;
    const raised = raise(generation + 1);
    expect(await endsWithin(raised, 300)).to.be.false;
    const late = rejection(deleteFrom(database.pool, table));
    expect(await endsWithin(late, 300)).to.be.false;
    release.resolve();
    await Promise.all([open, raised]);
    expect(await late).to.include({ code: refused });
    await raise(generation);
  });
});
