import { expect } from 'chai';
import { defaultPlanTable } from '../../../schemas/plans.js';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import { trustNone } from '../../../ops/http/client-address.js';
import { createLogger } from '../../../ops/platform/logging.js';
import { sendRequest } from '../../../ops/test/support/http.js';
import { operatorsConsole } from './operators.js';
import { createPeople } from '../../people/handler.js';
import { databaseFixture, ledgerFixture } from '../../../ops/test/support/fixtures.js';

describe('command API: sessions of operators', () => {
  const database = databaseFixture('operators');
  const node = ledgerFixture(database);
  const servers: Server[] = [];

  after(() => {
    for (const server of servers) server.close();
  });

  const start = async (adminToken: string): Promise<string> => {
    const logger = createLogger('silent');
    const { pool } = database;
    const people = createPeople(pool, node.outbox);
    const deps = {
      ...{ pool, adminToken, trustedProxies: trustNone, logger, refusalOf: () => null },
      shortUrlHost: 'http://localhost:8081',
      plans: defaultPlanTable,
      people,
      signIn: { provider: null, ways: { keys: true, oidc: null } },
      originOf: () => '',
    };
    const console = operatorsConsole(deps, []);
    const app = new Koa();
    app.use((ctx) => {
      ctx.state = { headers: {}, uncounted: (wait: unknown) => wait };
      return console.handle(ctx);
    });
    const handle = app.callback();
    const server = createServer((request, response) => void handle(request, response)).listen(0);
    servers.push(server);
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };

  it('end with the admin token, and store no guessable hash of it', async () => {
    const token = 'the-first-admin-token';
    const [before, after] = await Promise.all([start(token), start('the-second-admin-token')]);
    const signIn = async (): Promise<string> => {
      const { headers } = await sendRequest(`${before}/console/session`, {
        method: 'POST',
        headers: { Origin: before },
        body: { token, actor: 'maria' },
      });
      return headers['set-cookie']?.[0]?.split(';')[0] ?? '';
    };
    const cookies = [await signIn(), await signIn()];
    for (const Cookie of cookies) {
      const status = async (at: string) =>
        (await sendRequest(`${at}/console/session`, { headers: { Cookie } })).status;
      expect([await status(before), await status(after)]).to.deep.equal([200, 204]);
    }
    // Equal admin tokens have different hashes, which prevents dictionary attacks.
    const { rows } = await database.pool.query(
      'SELECT DISTINCT bound_to FROM ledger.console_sessions',
    );
    expect(rows).to.have.length(2);
  });
});
