import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { projectionNames, liveSchema } from '../../../projectors/runtime/projection.js';
import { emptyDatabase } from '../support/database.js';
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
import { oldRelease, programOf } from './old-release.js';
import { countByStatus, longestOutage, startLoad } from './upgrade-load.js';

const adminToken = 'a-token-of-an-operator';
const migrateFile = fileURLToPath(new URL('../../tools/migrate.js', import.meta.url));
const promisedOutageMs = 10_000;

describe('chaos: upgrade of a running stack from release 0.2.0', function () {
  this.timeout(kafkaStartMs + 1_200_000);
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
      database.pool.query(
        `SELECT topic, partition, next_offset FROM ${liveSchema(name)}.checkpoints ORDER BY 1, 2`,
      ),
    );
    return (await Promise.all(reads)).map(({ rows }) => rows);
  };

  it('loses no link and no redirect, and stops POST for less than 10 s', async () => {
    const projectors = [await start('projectors', program), await start('projectors', program)];
    const edges = [await start('edge', program), await start('edge', program)];
    const apis = [await start('api', program), await start('api', program)];
    const [firstApi] = apis;
    const { key } = await issueKey({ admin: firstApi?.admin ?? '', adminToken }, { plan: 'PRO' });
    const known: string[] = [];
    for (let count = 0; count < 50; count += 1) {
      const response = await sendRequest(`${firstApi?.api ?? ''}/v2/shorten`, {
        ...{ method: 'POST', headers: { Authorization: `Bearer ${key}` } },
        body: { url: `https://example.com/known/${count}` },
      });
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
      ...{ key, known },
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

    /** Starts the new process first, where both may run at the same time. */
    const replace = async (list: Service[], index: number): Promise<void> => {
      const [old] = list.splice(index, 1);
      await old?.stop();
      list.splice(index, 0, await start(old?.role ?? 'api'));
    };
    await timed('projectors and APIs', () =>
      Promise.all([replace(projectors, 0), replace(apis, 0)]),
    );
    await timed('the other projectors and APIs', () =>
      Promise.all([replace(projectors, 1), replace(apis, 1)]),
    );
    for (const index of edges.keys()) await timed(`edge ${index}`, () => replace(edges, index));
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
    await waitUntilProjected(edges.map(({ edge }) => edge));
    for (const service of [...edges, ...apis, ...projectors]) await service.stop();
    services.length = 0;
    const verified = await startLinklogCli(['audit', 'verify'], env).ended;
    expect(verified.exitCode, verified.stdout + verified.stderr).to.equal(0);
  });
});
