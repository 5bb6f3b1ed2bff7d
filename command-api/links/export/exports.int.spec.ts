import { expect } from 'chai';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Outbox } from '../../../ops/event-log/outbox/port.js';
import { createLogger } from '../../../ops/platform/logging.js';
import { databaseFixture, ledgerFixture } from '../../../ops/test/support/fixtures.js';
import { fixture } from '../../../ops/test/support/fixture.js';
import { rejection } from '../../../ops/test/support/waiting.js';
import { recordHistory } from '../../../ops/test/support/ledger-links.js';
import { redirects } from '../../../projectors/links/projection.js';
import { feed } from '../../../projectors/testing/harness.js';
import { exportQuery } from '../../../schemas/http/export.js';
import { at, created } from '../../../schemas/testing/events.js';
import { createExports, type Exports } from './exports.js';
import { formats } from './format.js';

const links = 1_500;
const now = at(links);

describe('command API: exports', () => {
  const database = databaseFixture('exports');
  const node = ledgerFixture(database);
  const projection = fixture(() => feed(database.pool, redirects));
  let server: Server | undefined;

  before(async function () {
    this.timeout(60_000);
    const events = Array.from({ length: links }, (_, index) =>
      created(`link-${index}`, {}, { account: 'acme', time: at(index) }),
    );
    await recordHistory(node, ...events);
    await projection.events(...events);
  });

  afterEach(() => {
    server?.close();
  });

  const exportsOf = (outbox: Outbox, lifeMs?: number): Exports =>
    createExports({
      ...{ pool: node.pool, outbox, logger: createLogger('silent') },
      ...(lifeMs !== undefined && { lifeMs }),
    });

  const request = (account = 'acme') => ({
    query: { ...exportQuery.parse({}), sort: 'created' as const, account },
    format: formats.jsonl,
    now,
  });

  /** The response to one export. */
  const respond = async (exports: Exports): Promise<IncomingMessage> => {
    const opened = await exports.open(request());
    if (typeof opened === 'string') throw new Error(`the export is ${opened}`);
    server = createServer((_request, response) => {
      response.writeHead(200);
      opened.start(response);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const [response] = (await once(get({ port, agent: false }), 'response')) as [IncomingMessage];
    return response;
  };

  const readLines = async (response: IncomingMessage): Promise<number> => {
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) text += String(chunk);
    return text.split('\n').length - 1;
  };

  it('have all links, in several portions', async () => {
    expect(await readLines(await respond(exportsOf(node.outbox)))).to.equal(links);
  });

  it('are two for each account, and as many as connections', async () => {
    const exports = exportsOf(node.outbox);
    const { max } = node.pool.options;
    const open = async (account: string) => exports.open(request(account));
    const opened = [await open('a'), await open('a')];
    expect(await open('a')).to.equal('tooMany');
    for (let index = 2; index < max; index += 1) opened.push(await open(`other-${index}`));
    expect(await open('b')).to.equal('tooMany');
    for (const running of opened) if (typeof running !== 'string') running.cancel();
    expect(await readLines(await respond(exportsOf(node.outbox)))).to.equal(links);
    expect(exports.count()).to.equal(0);
  });

  it('reset the connection after their longest time', async () => {
    const response = await respond(exportsOf(node.outbox, 1));
    expect(await rejection(readLines(response))).to.include({ code: 'ECONNRESET' });
    expect(response.complete).to.equal(false);
  });

  it('are complete, or reset the connection, if a rebuild replaces the tables', async () => {
    const live = 'projection_redirects';
    const previous = `${live}_previous`;
    let reads = 0;
    const outbox: Outbox = {
      ...node.outbox,
      async after(...parameters) {
        reads += 1;
        if (reads === 2) {
          await database.pool.query(
            `ALTER SCHEMA ${live} RENAME TO ${previous}; CREATE SCHEMA ${live};
             CREATE TABLE ${live}.links (LIKE ${previous}.links);
             CREATE TABLE ${live}.link_tags (LIKE ${previous}.link_tags)`,
          );
        }
        return node.outbox.after(...parameters);
      },
    };
    try {
      const response = await respond(exportsOf(outbox));
      // It depends on when PostgreSQL processes the invalidation of its caches.
      const lines = await readLines(response).catch((error: unknown) => {
        expect(error).to.include({ code: 'ECONNRESET' });
        return null;
      });
      expect([links, null]).to.include(lines);
      expect(response.complete).to.equal(lines !== null);
      expect(reads).to.be.at.least(2);
    } finally {
      await database.pool.query(
        `DROP SCHEMA ${live} CASCADE; ALTER SCHEMA ${previous} RENAME TO ${live}`,
      );
    }
  });
});
