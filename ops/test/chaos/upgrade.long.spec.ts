import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { retry } from '../../platform/concurrency/retry.js';
import { requireMigrated } from '../../migrations/migrate.js';
import type { Pool } from '../../platform/postgres/pool.js';
import { projectionNames } from '../../../projectors/projections.js';
import { liveSchema } from '../../../projectors/runtime/projection.js';
import { emptyDatabase, testDatabase } from '../support/database.js';
import { fixture } from '../support/fixture.js';
import { folderFixture, kafkaFixture } from '../support/fixtures.js';
import { sendRequest } from '../support/http.js';
import { kafkaStartMs } from '../support/kafka.js';
import { launch, mainFile, startLinklogCli } from '../support/process.js';
import { issueKey } from '../support/product.js';
import { waitUntilProjected } from '../support/projected.js';
import { testRedis } from '../support/redis.js';
import { startService, type Service } from '../support/services.js';
import { eventually, within } from '../support/waiting.js';
import { countByStatus, longestOutage, startLoad } from '../support/balanced-load.js';
import { needs } from '../support/needs.js';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { projectFile } from '../../platform/files/project-file.js';

const run = promisify(execFile);

/** The commit of release 0.2.0. */
const releaseCommit = 'bef465c4';

/**
 * Builds release 0.2.0 from the history of the project, once for each machine, and returns its folder. With
 * LINKLOG_OLD_RELEASE, returns that folder.
 */
const oldRelease = async (): Promise<string> => {
  const given = process.env['LINKLOG_OLD_RELEASE'];
  if (given !== undefined) return given;
  const folder = path.join(tmpdir(), `linklog-release-${releaseCommit}`);
  if (existsSync(folder)) return folder;
  const building = `${folder}.building`;
  await rm(building, { recursive: true, force: true });
  await mkdir(building);
  const archive = path.join(building, 'release.tar');
  await run('git', ['archive', '--output', archive, releaseCommit], { cwd: projectFile() });
  await run('tar', ['xf', archive], { cwd: building });
  // Also builds the release.
  await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: building, maxBuffer: 2 ** 26 });
  await rename(building, folder);
  return folder;
};

const programOf = (release: string, ...file: readonly string[]): string =>
  path.join(release, 'dist', ...file);

const adminToken = 'a-token-of-an-operator';
const migrateFile = fileURLToPath(new URL('../../tools/migrate.js', import.meta.url));
/** The promise is 10 s; the rest is for a busy machine. The report has the measured time. */
const promisedOutageMs = 30_000;
const promisedMigrationMs = 60_000;

const restricted = 'links:create,stats:read,qr:read';
const allScopes = 'links:create,links:read,links:write,stats:read,qr:read,keys:manage';

/** Rows of 100,000 links, which have 1,000,000 visitors, in the tables of release 0.2.0. */
const fill = `
  INSERT INTO ledger.links (code, key_id, account, sequence, last_event_at, created_at, clicks)
    SELECT 'link' || i, 'key', 'account' || i % 100, 1, now(), now(), 10 FROM generate_series(1, 100000) i;
  INSERT INTO projection_redirects.links (code, status, url, account, created_at, sequence, original, folded)
    SELECT 'link' || i, 'active', 'https://example.com/' || i, 'account' || i % 100, now(), 1, '{}',
      'link' || i || ' https://example.com/' || i FROM generate_series(1, 100000) i;
  INSERT INTO projection_history.events (code, sequence, time, id, type, account, data)
    SELECT 'link' || i, n, now(), gen_random_uuid(), 'linklog.LinkCreated.v3', 'account' || i % 100,
      repeat('x', 300) FROM generate_series(1, 100000) i, generate_series(1, 3) n;
  INSERT INTO projection_stats.codes (code, account, clicks, bots, day, uniques, series, document)
    SELECT 'link' || i, 'account' || i % 100, 10, 0, 20000, 10, '', '' FROM generate_series(1, 100000) i;
  INSERT INTO projection_stats.links_by_clicks SELECT 'account' || i % 100, 10, 'link' || i
    FROM generate_series(1, 100000) i;
  INSERT INTO projection_stats.visitors SELECT 'link' || i % 100000, 20000, 'visitor' || i
    FROM generate_series(1, 1000000) i;
  INSERT INTO projection_history.checkpoints VALUES ('linklog.links', 0, 'log', 1);
  INSERT INTO ledger.api_keys
      (id, name, plan, account, status, created_at, sequence, last_event_at, scopes, ancestors)
    SELECT scopes, 'name', 'PRO', 'acme', 'active', now(), 1, now(), string_to_array(scopes, ','), '{}'
    FROM unnest(ARRAY['${allScopes}', '${restricted}', '']) scopes`;

/** The columns, indexes, triggers and views of a database. */
const tablesOf = async (pool: Pool): Promise<readonly unknown[]> => {
  const { rows } = await pool.query<Record<string, unknown>>(
    `WITH own AS (SELECT oid, nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)')
     SELECT nspname, relname, attname AS name, format_type(atttypid, atttypmod) || ' ' || attnotnull || ' '
         || coalesce(pg_get_expr(adbin, adrelid), '') AS definition
       FROM own JOIN pg_class c ON relnamespace = own.oid JOIN pg_attribute a ON attrelid = c.oid
       LEFT JOIN pg_attrdef d ON adrelid = attrelid AND adnum = attnum
       WHERE relkind IN ('r', 'v', 'i') AND attnum > 0 AND NOT attisdropped
     UNION ALL SELECT nspname, relname, tgname, pg_get_triggerdef(t.oid)
       FROM own JOIN pg_class c ON relnamespace = own.oid JOIN pg_trigger t ON tgrelid = c.oid AND NOT tgisinternal
     UNION ALL SELECT schemaname, tablename, '', indexdef FROM pg_indexes JOIN own ON nspname = schemaname
     ORDER BY 1, 2, 3, 4`,
  );
  return rows;
};

describe('chaos: upgrade of a running stack from release 0.2.0', function () {
  this.timeout(kafkaStartMs + 1_200_000);
  needs('git', 'redis-server');
  const database = fixture(
    () => emptyDatabase('upgraded'),
    (database) => database.drop(),
  );
  const kafka = kafkaFixture('upgraded');
  const keys = folderFixture();
  const services: Service[] = [];
  let env: Record<string, string>;
  let program: string;

  before(async () => {
    program = programOf(await oldRelease(), 'ops', 'main.js');
    env = {
      ...{ DATABASE_URL: database.url, ADMIN_TOKEN: adminToken, FIRST_KEY: 'none' },
      ...{ KAFKA_BROKERS: kafka.brokers, KAFKA_TOPIC_PREFIX: kafka.prefix },
      ...{ REDIS_URL: (await testRedis()).url, SHORT_URL_HOST: 'http://localhost' },
      SEAL_KEY_FILE: `${keys.path}/seal-key.pem`,
    };
  });

  after(async () => {
    for (const { child, ended } of services) {
      child.kill('SIGKILL');
      await ended;
    }
  });

  const start = async (role: Service['role'], main = mainFile): Promise<Service> => {
    const service = await startService(role, env, main);
    services.push(service);
    return service;
  };

  /** The rows of each projection's checkpoints. Old projectors move them with each row that they write. */
  const checkpoints = async (): Promise<unknown> => {
    const reads = projectionNames.map((name) =>
      database.pool.query<Record<string, unknown>>(
        `SELECT topic, partition, next_offset FROM ${liveSchema(name)}.checkpoints ORDER BY 1, 2`,
      ),
    );
    return (await Promise.all(reads)).map(({ rows }) => rows);
  };

  it('migrates 100,000 links and 1,000,000 visits in less than 60 s, through a kill', async () => {
    const large = await emptyDatabase('large');
    const created = await testDatabase('created');
    try {
      const migrate = async (file: string, killAfterMs = Infinity): Promise<number> => {
        const startedAt = performance.now();
        const { child, ended } = launch({ DATABASE_URL: large.url, LOG_LEVEL: 'info' }, [file]);
        if (killAfterMs < Infinity) {
          await sleep(killAfterMs);
          child.kill('SIGKILL');
        }
        const { exitCode, stderr } = await ended;
        process.stdout.write(stderr);
        if (killAfterMs === Infinity) expect(exitCode, stderr).to.equal(0);
        return Math.round(performance.now() - startedAt);
      };
      await migrate(programOf(await oldRelease(), 'ops', 'tools', 'migrate.js'));
      const client = new pg.Client({ connectionString: large.url });
      await client.connect();
      await client.query(fill);
      await client.end();
      const ms = (await migrate(migrateFile, 1_500)) + (await migrate(migrateFile));
      process.stdout.write(`${JSON.stringify({ migrationMs: ms })}\n`);
      expect(ms).to.be.below(promisedMigrationMs);
      await requireMigrated(large.pool);
      const { rows } = await large.pool.query(
        'SELECT count(*) FROM ledger.links WHERE subject IS NOT NULL',
      );
      expect(rows).to.deep.equal([{ count: 100_000 }]);
      const { rows: keys } = await large.pool.query<{ id: string; scopes: string | null }>(
        `SELECT id, array_to_string(scopes, ',') AS scopes FROM ledger.api_keys`,
      );
      expect(keys).to.have.deep.members([
        { id: allScopes, scopes: null },
        ...[restricted, ''].map((scopes) => ({ id: scopes, scopes })),
      ]);
      expect(await tablesOf(large.pool)).to.deep.equal(await tablesOf(created.pool));
    } finally {
      await large.drop();
      await created.drop();
    }
  });

  it('loses no link and no redirect, and interrupts POST briefly', async () => {
    const projectors = [await start('projectors', program), await start('projectors', program)];
    const edges = [await start('edge', program), await start('edge', program)];
    const apis = [await start('api', program), await start('api', program)];
    const [firstApi] = apis;
    // On a busy machine, PostgreSQL or Kafka may miss a deadline.
    const { key } = await retry(
      () => issueKey({ admin: firstApi?.admin ?? '', adminToken }, { plan: 'PRO' }),
      { attempts: 20 },
    );
    const known: string[] = [];
    while (known.length < 50) {
      const response = await sendRequest(`${firstApi?.api ?? ''}/v2/shorten`, {
        ...{ method: 'POST', headers: { Authorization: `Bearer ${key}` } },
        body: { url: `https://example.com/known/${known.length}` },
      });
      if (response.status !== 201) continue;
      known.push((response.json() as { shortCode: string }).shortCode);
    }
    for (const { edge } of edges) {
      for (const code of known) {
        expect((await sendRequest(`${edge}/${code}`)).status).to.equal(302);
      }
    }

    const load = startLoad({
      apis: () => apis.map(({ api }) => api),
      edges: () => edges.map(({ edge }) => edge),
      ...{ keys: [key], known },
    });
    after(() => load.stop());
    await eventually('links are created', () => load.acknowledged.length > 100, 60_000);

    const steps: Record<string, number> = {};
    const timed = async <Result>(step: string, work: () => Promise<Result>): Promise<Result> => {
      const startedAt = performance.now();
      const result = await work();
      steps[step] = Math.round(performance.now() - startedAt);
      return result;
    };

    await timed('migrations', async () => {
      const { ended } = launch(env, [migrateFile]);
      const { exitCode, stderr } = await within(120_000, 'migrate.js did not exit', ended);
      expect(exitCode, stderr).to.equal(0);
    });
    // Old projectors still run: they write no row, whatever the log receives.
    const before = await checkpoints();
    await sleep(1_000);
    expect(await checkpoints()).to.deep.equal(before);

    /** Starts the new process before the old one stops. */
    const replace = async (list: Service[], index: number): Promise<void> => {
      const [old] = list.splice(index, 1, await start(list[index]?.role ?? 'api'));
      await old?.stop();
    };
    const replaceAll = async (step: string, list: Service[]): Promise<void> => {
      for (const index of list.keys()) {
        await timed(`${step} ${index}`, () => replace(list, index));
      }
    };
    await Promise.all([replaceAll('projectors', projectors), replaceAll('api', apis)]);
    await replaceAll('edge', edges);
    const upgraded = load.acknowledged.length;
    await eventually('links are created', () => load.acknowledged.length > upgraded + 100, 60_000);

    const { creations, redirects, acknowledged } = await load.stop();
    const report = {
      steps,
      creations: countByStatus(creations),
      redirects: countByStatus(redirects),
      longestOutageMs: Math.round(longestOutage(creations, (status) => status === 201)),
    };
    process.stdout.write(`${JSON.stringify(report)}\n`);
    expect(Object.keys(report.redirects)).to.deep.equal(['302']);
    expect(report.longestOutageMs).to.be.below(promisedOutageMs);

    await eventually(
      'the history is rebuilt',
      async () => {
        const { rows } = await database.pool.query<{ isDue: boolean }>(
          `SELECT obj_description('projection_history'::regnamespace, 'pg_namespace') = 'rebuild due' AS "isDue"`,
        );
        return rows[0]?.isDue !== true;
      },
      180_000,
    );
    await waitUntilProjected(edges.map(({ edge }) => edge));
    for (const code of [...known, ...acknowledged]) {
      const response = await sendRequest(`${edges[0]?.edge ?? ''}/${code}`);
      expect(response.status, code).to.equal(302);
    }
    // A link of the release accepts the options and further codes of today.
    const [code = ''] = known;
    const [path, headers] = [`/v2/links/${code}`, { Authorization: `Bearer ${key}` }];
    const options = {
      ...{ redirectStatus: 307, expiredUrl: 'https://example.com/over', forwardPath: true },
      ...{ forwardQuery: true, card: { title: 'Sale' } },
      rules: [
        { name: 'local', when: { networks: ['127.0.0.1'] }, url: 'https://example.com/local' },
      ],
    };
    const api = apis[0]?.api ?? '';
    for (const [method, sentTo, body] of [
      ['PATCH', path, options],
      ['POST', `${path}/codes`, { alias: 'after-upgrade' }],
    ] as const) {
      const changed = await sendRequest(api + sentTo, { method, headers, body });
      expect(changed.json(), changed.text).to.deep.include({ shortCode: code, ...options });
    }
    const visited = await sendRequest(`${edges[0]?.edge ?? ''}/after-upgrade/a?b=c`);
    expect([visited.status, visited.headers.location]).to.deep.equal([
      ...[307, 'https://example.com/local/a?b=c'],
    ]);
    await waitUntilProjected(edges.map(({ edge }) => edge));
    for (const service of [...edges, ...apis, ...projectors]) await service.stop();
    services.length = 0;
    const verified = await startLinklogCli(['audit', 'verify'], env).ended;
    expect(verified.exitCode, verified.stdout + verified.stderr).to.equal(0);
  });
});
