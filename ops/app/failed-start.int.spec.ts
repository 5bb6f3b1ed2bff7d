import { expect } from 'chai';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { rejection } from '../test/support/waiting.js';
import { readConfig } from '../config/config.js';
import { createLogger } from '../platform/logging.js';
import { freePort } from '../local/process/server.js';
import { startLinklog } from './linklog.js';
import type { Role } from './roles.js';
import { databaseFixture, folderFixture } from '../test/support/fixtures.js';

const logger = createLogger('silent');

/** A server that accepts connections and closes each one. */
const startClosingServer = async () => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined);
    socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, ...(server.address() as AddressInfo), connections: () => connections };
};

describe('composition root: failed start', () => {
  const database = databaseFixture('failed_start', { per: 'test' });
  const dataDir = folderFixture({ per: 'test' });
  let other: Server | null = null;

  afterEach(() => {
    other?.close();
    other = null;
  });

  const failStart = (role: Role, env: Readonly<Record<string, string>>): Promise<unknown> => {
    const config = readConfig({
      HOST: '127.0.0.1',
      API_PORT: '0',
      EDGE_PORT: '0',
      ADMIN_PORT: '0',
      ADMIN_TOKEN: 'a-token-of-this-spec',
      SHORT_URL_HOST: 'http://localhost:1',
      DATABASE_URL: database.url,
      DATA_DIR: dataDir.path,
      ...env,
    });
    return rejection(startLinklog(config, new Set([role]), logger));
  };

  it('closes the operators’ listener when the port of the API is in use', async () => {
    const { server, port } = await startClosingServer();
    other = server;
    const adminPort = await freePort();
    const error = await failStart('api', { API_PORT: String(port), ADMIN_PORT: String(adminPort) });
    expect(error).to.have.property('message').that.includes('API_PORT');
    const socket = connect(adminPort, '127.0.0.1');
    expect(await rejection(once(socket, 'connect'))).to.have.property('code', 'ECONNREFUSED');
  });

  it('ends the spool when the edge cannot read the key of its shared cache', async () => {
    await database.pool.query('DELETE FROM ledger.copy_key');
    const error = await failStart('edge', { REDIS_URL: 'redis://127.0.0.1:1' });
    expect(error).to.have.property('message').that.includes('ledger.copy_key has no row');
    expect(await readdir(path.join(dataDir.path, 'spool'))).to.deep.equal([]);
  });

  it('closes the Kafka clients when the outbox cannot be read', async () => {
    const broker = await startClosingServer();
    other = broker.server;
    await database.pool.query('DROP TABLE log.relayed');
    const error = await failStart('api', { KAFKA_BROKERS: `127.0.0.1:${broker.port}` });
    expect(error).to.have.property('message').that.includes('log.relayed');
    // A connection may be in progress.
    await sleep(100);
    const before = broker.connections();
    // The client would retry after 200 ms to 2 s.
    await sleep(3_000);
    expect(broker.connections()).to.equal(before);
  });
});
