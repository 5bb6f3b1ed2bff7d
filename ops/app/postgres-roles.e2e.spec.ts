import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { projectFile } from '../platform/files/project-file.js';
import {
  emptyDatabase,
  endTestServer,
  startTestServer,
  type TestDatabase,
} from '../test/support/database.js';
import { projectionNames } from '../../projectors/projections.js';
import { passwordForm } from '../test/e2e/harness.js';
import { createLink } from '../test/support/create-links.js';
import { sendRequest, type HttpResponse } from '../test/support/http.js';
import {
  launch,
  mainFile,
  readyLine,
  temporaryDir,
  type EndedProcess,
  type RunningProcess,
} from '../test/support/process.js';
import { issueKey } from '../test/support/product.js';
import { eventuallyPasses } from '../test/support/waiting.js';

const roles = ['linklog_migrations', 'linklog_api', 'linklog_edge', 'linklog_projectors'] as const;
type Role = (typeof roles)[number];

const migrateFile = fileURLToPath(new URL('../tools/migrate.js', import.meta.url));
const adminToken = 'a-token-of-an-operator';
const destination = 'https://example.com/';
const insufficientPrivilege = '42501';

const forbidden: Readonly<Partial<Record<Role, readonly string[]>>> = {
  linklog_api: [
    'SELECT key FROM ledger.visitor_keys',
    'SELECT key FROM ledger.copy_key',
    'SELECT * FROM ledger.password_tries',
    'UPDATE projection_redirects.links SET url = url',
    'DELETE FROM projection_stats.checkpoints',
    'DELETE FROM log.segments',
    'UPDATE seals.chains SET partition = partition',
  ],
  linklog_edge: [
    'SELECT hash FROM ledger.key_secrets',
    'SELECT name FROM ledger.api_keys',
    'SELECT * FROM ledger.console_sessions',
    'SELECT * FROM ledger.idempotency',
    'SELECT token FROM ledger.domains',
    'SELECT token_hash FROM ledger.shares',
    'SELECT key FROM ledger.share_key',
    'SELECT name FROM ledger.people',
    'SELECT hash FROM ledger.roles',
    'SELECT token_hash FROM ledger.invitations',
    'SELECT source FROM ledger.utm_templates',
    'UPDATE ledger.domains SET account = NULL',
    'UPDATE ledger.key_meters SET window_calls = 0',
    'UPDATE ledger.platform SET maintenance = true',
    'DELETE FROM ledger.links',
    'UPDATE projection_redirects.links SET url = url',
    'DELETE FROM log.segments',
  ],
  linklog_projectors: [
    'SELECT hash FROM ledger.key_secrets',
    'SELECT name FROM ledger.api_keys',
    'SELECT key FROM ledger.visitor_keys',
    'SELECT * FROM ledger.idempotency',
    'SELECT claims FROM ledger.domains',
    'SELECT password_hash FROM ledger.shares',
    'SELECT email FROM ledger.people',
    'SELECT role FROM ledger.roles',
    'SELECT email FROM ledger.invitations',
    'UPDATE ledger.links SET blocked = false',
    'UPDATE ledger.platform SET maintenance = true',
  ],
};
const forbiddenToServices = [
  'CREATE TABLE public.forbidden ()',
  'CREATE TABLE ledger.forbidden ()',
  'DROP TABLE ledger.api_keys',
  'ALTER TABLE ledger.links ADD COLUMN forbidden text',
  "INSERT INTO public.migrations (file) VALUES ('9999_forbidden.sql')",
  'CREATE ROLE forbidden',
  'CHECKPOINT',
];

describe('composition root: one PostgreSQL role for each service', () => {
  let server: Awaited<ReturnType<typeof startTestServer>>;
  let database: TestDatabase;
  const folders: string[] = [];
  const running: RunningProcess[] = [];

  const urlOf = (role: Role): string => {
    const url = new URL(database.url);
    Object.assign(url, { username: role, password: role });
    return url.href;
  };

  const start = async (
    role: Role,
    program: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Promise<RunningProcess> => {
    const dataDir = await temporaryDir();
    folders.push(dataDir);
    const started = launch({ DATABASE_URL: urlOf(role), DATA_DIR: dataDir, ...env }, program);
    running.push(started);
    return started;
  };

  const migrate = async (role: Role): Promise<EndedProcess> =>
    (await start(role, [migrateFile])).ended;

  before(async () => {
    server = await startTestServer();
    database = await emptyDatabase('roles', server);
    await database.pool.query(readFileSync(projectFile('ops', 'migrations', 'roles.sql'), 'utf8'));
    for (const role of roles) await database.pool.query(`ALTER ROLE ${role} PASSWORD '${role}'`);
  });

  after(async () => {
    for (const { child, ended } of running) {
      child.kill('SIGTERM');
      await ended;
    }
    await database.drop();
    await endTestServer(server);
    for (const folder of folders) await rm(folder, { recursive: true, force: true });
  });

  it('rejects a database that is not migrated, and names the command that migrates it', async () => {
    const env = { ADMIN_TOKEN: adminToken, SHORT_URL_HOST: 'http://localhost' };
    const { exitCode, stderr } = await (await start('linklog_api', [mainFile, 'api'], env)).ended;
    expect(stderr).to.match(/^linklog: .*dist\/ops\/tools\/migrate\.js.*\n$/m);
    expect(exitCode).to.equal(1);
  });

  it('migrates as the owner of the tables, repeatedly', async () => {
    for (let round = 0; round < 2; round += 1) {
      const { exitCode, stderr } = await migrate('linklog_migrations');
      expect(exitCode, stderr).to.equal(0);
    }
  });

  describe('on a migrated database', () => {
    let api: string;
    let admin: string;
    let edge: string;
    /** The admin listeners of all services. */
    let monitored: readonly string[];
    let key: string;
    /** An edge with another CODES_CASE, which started before the API. */
    let sensitive: RunningProcess;

    before(async () => {
      const addressOf = async (process: RunningProcess, name: string): Promise<string> =>
        ((await readyLine(process)) as Record<string, string>)[name] ?? '';
      const insensitive = { CODES_CASE: 'insensitive' };
      sensitive = await start('linklog_edge', [mainFile, 'edge']);
      const edges = await start('linklog_edge', [mainFile, 'edge'], insensitive);
      await readyLine(sensitive);
      edge = await addressOf(edges, 'edge');
      const env = {
        ...{ ADMIN_TOKEN: adminToken, SHORT_URL_HOST: edge, FIRST_KEY: 'none' },
        ...insensitive,
      };
      const apis = await start('linklog_api', [mainFile, 'api'], env);
      api = await addressOf(apis, 'api');
      admin = await addressOf(apis, 'admin');
      const projectors = await start('linklog_projectors', [mainFile, 'projectors'], insensitive);
      const others = [await addressOf(edges, 'admin'), await addressOf(projectors, 'admin')];
      monitored = [admin, ...others];
      ({ key } = await issueKey({ admin, adminToken }, { plan: 'PRO' }));
    });

    const call = (method: string, path: string, body?: object): Promise<HttpResponse> => {
      const headers = { Authorization: `Bearer ${key}`, 'Idempotency-Key': path + method };
      return sendRequest(api + path, { method, headers, ...(body && { body }) });
    };

    const operate = (method: string, path: string, body?: object): Promise<HttpResponse> => {
      const headers = { Authorization: `Bearer ${adminToken}` };
      return sendRequest(admin + path, { method, headers, ...(body && { body }) });
    };

    const create = async (fields: object): Promise<string> =>
      (await createLink(api, key, fields)).shortCode;

    const visit = async (code: string, password?: string): Promise<number> =>
      (await sendRequest(`${edge}/${code}`, password === undefined ? {} : passwordForm(password)))
        .status;

    it('ends an edge with another CODES_CASE than the API has chosen', async () => {
      const { exitCode, stderr } = await sensitive.ended;
      expect(stderr).to.match(/^linklog: CODES_CASE is sensitive, .* chose insensitive, .*\n$/);
      expect(exitCode).to.equal(78);
    });

    it('shows the owner of the tables the statements of all sessions, and ends those of services', async () => {
      const owner = new pg.Client(urlOf('linklog_migrations'));
      const service = new pg.Client(urlOf('linklog_api'));
      const errors: Error[] = [];
      service.on('error', (error) => errors.push(error));
      const ended = new Promise((resolve) => service.once('end', resolve));
      await owner.connect();
      await service.connect();
      await service.query('BEGIN; LOCK TABLE ledger.links IN ACCESS SHARE MODE');
      await database.pool.query('SELECT 1 AS superuser');
      const { rows } = await owner.query<{ query: string; isEnded: boolean }>(
        `SELECT query, CASE WHEN query LIKE 'BEGIN; LOCK%' THEN pg_terminate_backend(pid) END AS "isEnded"
         FROM pg_stat_activity WHERE query LIKE 'BEGIN; LOCK%' OR query = 'SELECT 1 AS superuser'
         ORDER BY query`,
      );
      expect(rows.map(({ isEnded }) => isEnded)).to.deep.equal([true, null]);
      await ended;
      expect(errors[0]).to.include({ code: '57P01' });
      await owner.end();
    });

    it('creates, changes, redirects and counts links', async () => {
      const plain = await create({});
      expect(await visit(plain)).to.equal(302);
      const limited = await create({ maxClicks: 1, alias: 'limited-link', tags: ['a'] });
      expect([await visit(limited), await visit('LIMITED-Link')]).to.deep.equal([302, 410]);
      const secret = await create({ password: 'open sesame' });
      expect(await visit(secret, 'wrong')).to.equal(401);
      expect(await visit(secret, 'open sesame')).to.equal(303);
      expect((await call('PATCH', `/v2/links/${plain}`, { title: 'New' })).status).to.equal(200);
      expect((await call('GET', `/v2/qr/${plain}`)).status).to.equal(200);
      expect((await call('POST', '/v2/shorten', { url: destination })).status).to.equal(201);
      expect((await call('POST', '/v2/shorten', { url: destination })).status).to.equal(201);
      const block = await operate('POST', `/admin/links/${plain}/block`, { reason: 'phishing' });
      expect(block.status, block.text).to.equal(200);
      await eventuallyPasses(async () => {
        for (const code of [plain, limited, secret]) {
          const stats = (await call('GET', `/v2/stats/${code}?include=all`)).json();
          expect(stats).to.include({ clickCount: 1 });
        }
        const history = await call('GET', `/v2/links/${limited}/history`);
        expect((history.json() as { events: unknown[] }).events).to.have.lengthOf(2);
        expect((await call('GET', '/v2/links?status=blocked')).text).to.include(plain);
        expect(await visit(plain)).to.equal(410);
      });
      for (const address of [api, edge, admin]) {
        const health = await sendRequest(`${address}/health/ready`);
        expect(health.status, health.text).to.equal(200);
      }
    });

    it('serves a link on a domain, and answers /tls/ask on the admin listeners of all services', async () => {
      const domain = 'go.example.com';
      const added = await operate('POST', '/admin/domains', { domain, account: 'default' });
      expect(added.status, added.text).to.equal(201);
      const code = await create({ domain });
      await eventuallyPasses(async () => {
        const response = await sendRequest(`${edge}/${code}`, { headers: { Host: domain } });
        expect(response.status, response.text).to.equal(302);
        for (const address of monitored) {
          const answer = await sendRequest(`${address}/tls/ask?domain=${domain}`);
          expect(answer.status, address).to.equal(200);
        }
      });
    });

    it('rebuilds projections, which the other services then read', async () => {
      for (const projection of projectionNames) {
        const response = await operate('POST', `/admin/projections/${projection}/rebuild`, {});
        expect(response.status, response.text).to.be.oneOf([200, 202]);
        await eventuallyPasses(async () => {
          const { projections } = (await operate('GET', '/admin/projections')).json() as {
            projections: { name: string; running: unknown; last: unknown }[];
          };
          const state = projections.find(({ name }) => name === projection);
          expect(state).to.have.property('running', null);
          expect(state?.last).to.include({ work: 'rebuild', error: null });
        }, 60_000);
      }
      const code = await create({});
      expect(await visit(code)).to.equal(302);
      await eventuallyPasses(async () => {
        expect((await call('GET', `/v2/stats/${code}`)).json()).to.include({ clickCount: 1 });
      });
      expect((await migrate('linklog_migrations')).exitCode).to.equal(0);
    });

    it('logs no missing privilege', () => {
      for (const { stdout, stderr } of running.slice(-4)) {
        expect(stdout() + stderr()).not.to.include('permission denied');
      }
    });

    for (const [role, statements] of Object.entries(forbidden)) {
      it(`denies ${role} the privileges of other services and of the owner`, async () => {
        const client = new pg.Client({ connectionString: urlOf(role as Role) });
        await client.connect();
        try {
          for (const statement of [...statements, ...forbiddenToServices]) {
            const error: unknown = await client.query(statement).catch((cause: unknown) => cause);
            expect(error, statement).to.have.property('code', insufficientPrivilege);
          }
        } finally {
          await client.end();
        }
      });
    }
  });
});
