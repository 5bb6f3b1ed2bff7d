import { expect } from 'chai';
import { projectionNames } from '../../projectors/projections.js';
import { liveSchema } from '../../projectors/runtime/projection.js';
import { dump } from '../../projectors/testing/tables.js';
import { linklogVersion } from '../platform/files/project-file.js';
import { generation } from '../platform/postgres/generation.js';
import { countByStatus, startLoad } from '../test/support/balanced-load.js';
import { databaseFixture, kafkaFixture } from '../test/support/fixtures.js';
import { sendRequest, type HttpResponse } from '../test/support/http.js';
import { kafkaStartMs } from '../test/support/kafka.js';
import { launch, mainFile, stopProcess, temporaryDir } from '../test/support/process.js';
import { issueKey } from '../test/support/product.js';
import { startService, type Service } from '../test/support/services.js';
import { eventually, eventuallyPasses, within } from '../test/support/waiting.js';

const adminToken = 'a-token-of-an-operator';
const refusal = `linklog: The tables in PostgreSQL have generation ${generation + 1}, and this version `;
const exitWithinMs = 60_000;

describe('composition root: another generation of the tables', function () {
  this.timeout(kafkaStartMs + 180_000);
  const database = databaseFixture('generation');
  const kafka = kafkaFixture('generation');
  const services: Service[] = [];
  let api: Service;
  let edge: Service;
  let projectors: Service;
  let key: string;
  const known: string[] = [];

  const environment = (): Record<string, string> => ({
    ...{ DATABASE_URL: database.url, ADMIN_TOKEN: adminToken, FIRST_KEY: 'none' },
    ...{ KAFKA_BROKERS: kafka.brokers, KAFKA_TOPIC_PREFIX: kafka.prefix },
    SHORT_URL_HOST: 'http://localhost',
  });

  before(async () => {
    for (const role of ['edge', 'projectors', 'api'] as const) {
      services.push(await startService(role, environment()));
    }
    [edge, projectors, api] = services as [Service, Service, Service];
    ({ key } = await issueKey({ admin: api.admin, adminToken }, { plan: 'PRO' }));
  });

  after(async () => {
    for (const { child, ended } of services) {
      child.kill('SIGKILL');
      await ended;
    }
  });

  const call = (method: string, path: string, body?: object): Promise<HttpResponse> =>
    sendRequest(api.api + path, {
      ...{ method, headers: { Authorization: `Bearer ${key}` } },
      ...(body && { body }),
    });

  const create = async (): Promise<string> => {
    const response = await call('POST', '/v2/shorten', {
      url: 'https://example.com/',
    });
    expect(response.status, response.text).to.equal(201);
    return (response.json() as { shortCode: string }).shortCode;
  };

  const projected = async (): Promise<unknown> =>
    Promise.all(projectionNames.map((name) => dump(database.pool, liveSchema(name))));

  it('registers each process with its version, its services and its host', async () => {
    const { rows } = await database.pool.query(
      'SELECT version, generation, services, pid FROM public.processes ORDER BY services',
    );
    expect(rows).to.deep.equal(
      [api, edge, projectors].map(({ role, child }) => ({
        ...{ version: linklogVersion(), generation, services: role, pid: child.pid },
      })),
    );
  });

  it('lets processes continue after an additive migration', async () => {
    // Statements that are prepared before the migration.
    for (let count = 0; count < 5; count += 1) known.push(await create());
    await database.pool.query(`
      ALTER TABLE ledger.links ADD COLUMN later text;
      ALTER TABLE ledger.key_meters ADD COLUMN later integer NOT NULL DEFAULT 0;
      ALTER TABLE ledger.api_keys ADD COLUMN later text;
      ALTER TABLE projection_redirects.links ADD COLUMN later text;
      ALTER TABLE projection_stats.links ADD COLUMN later bigint;
      INSERT INTO public.migrations (file) VALUES ('9999_later.sql')`);
    for (let count = 0; count < 5; count += 1) known.push(await create());
    for (const code of known) {
      expect((await sendRequest(`${edge.edge}/${code}`)).status).to.equal(302);
      await eventuallyPasses(async () => {
        expect((await call('GET', `/v2/stats/${code}`)).json()).to.include({ clickCount: 1 });
      });
    }
  });

  it('stops each process before it writes, and responds with 503 until then', async () => {
    const load = startLoad({
      ...{ apis: () => [api.api], edges: () => [edge.edge], keys: [key], known },
    });
    after(() => load.stop());
    await eventually('links are created', () => load.acknowledged.length > 10);
    // Events that the projectors have not applied.
    const resume = await stopProcess(projectors.child.pid ?? 0);
    const count = load.acknowledged.length;
    await eventually('links are created again', () => load.acknowledged.length > count + 10);

    await database.pool.query(`
      BEGIN;
      UPDATE public.generation SET generation = generation + 1;
      SELECT public.fence_tables();
      ALTER TABLE projection_redirects.links RENAME COLUMN subject TO renamed;
      ALTER TABLE projection_redirects.links RENAME COLUMN url TO renamed_url;
      COMMIT`);
    const before = await projected();
    const { rows: recorded } = await database.pool.query(
      'SELECT max(next_offset) FROM log.partitions',
    );
    const created = load.acknowledged.length;
    resume();
    for (const { ended, role } of [projectors, api, edge]) {
      const { exitCode, stderr } = await within(exitWithinMs, `${role} did not exit`, ended);
      expect(exitCode, stderr).to.equal(78);
      const lines = stderr.trimEnd().split('\n');
      expect(
        lines.filter((line) => !line.startsWith('{')),
        stderr,
      ).to.have.length(1);
      expect(lines.at(-1)).to.include(refusal);
    }
    expect(await projected()).to.deep.equal(before);
    expect(
      (await database.pool.query('SELECT max(next_offset) FROM log.partitions')).rows,
    ).to.deep.equal(recorded);

    const { creations, redirects, acknowledged } = await load.stop();
    // A request that was committed before the raise.
    expect(acknowledged.length - created).to.be.at.most(2);
    expect(Object.keys(countByStatus(creations))).to.have.members(['0', '201', '503']);
    expect(Object.keys(countByStatus(redirects))).to.have.members(['0', '302']);
  });

  for (const role of ['api', 'edge', 'projectors'] as const) {
    it(`does not start ${role}`, async () => {
      const dataDir = await temporaryDir();
      const { ended } = launch({ ...environment(), DATA_DIR: dataDir }, [mainFile, role]);
      const { exitCode, stderr } = await within(exitWithinMs, `${role} did not exit`, ended);
      expect(stderr).to.match(new RegExp(`^${refusal}[^\n]+\n$`));
      expect(exitCode).to.equal(78);
    });
  }
});
