import { expect } from 'chai';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
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
import { createExports, type Exports, formats } from './exports.js';

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
      ...{ pool: node.pool, mainPool: database.pool, outbox, logger: createLogger('silent') },
      ...(lifeMs !== undefined && { lifeMs }),
    });

  const request = (account = 'acme') => ({
    query: { ...exportQuery.parse({}), sort: 'created' as const, account },
    format: formats.jsonl,
    now,
    caller: { keyHash: null, sessionHash: null },
  });

  /** The response to one export. */
  const respond = async (
    exports: Exports,
    meanwhile?: () => Promise<unknown>,
  ): Promise<IncomingMessage> => {
    const opened = await exports.open(request());
    if (typeof opened === 'string') throw new Error(`the export is ${opened}`);
    await meanwhile?.();
    server = createServer((_request, response) => {
      response.writeHead(200);
      opened.start(response);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const [response] = (await once(get({ port, agent: false }), 'response')) as [IncomingMessage];
    return response;
  };

  const readLines = async (response: IncomingMessage): Promise<number> =>
    (await text(response)).split('\n').length - 1;

  it('have all links in several portions of one snapshot, without later changes', async () => {
    const response = await respond(exportsOf(node.outbox), () =>
      database.pool.query(`UPDATE projection_redirects.links SET title = 'changed'`),
    );
    const exported = await text(response);
    expect(exported.split('\n')).to.have.length(links + 1);
    expect(exported).to.not.include('changed');
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
});
