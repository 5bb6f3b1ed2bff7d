import { expect } from 'chai';
import {
  BadRequestError,
  ConflictError,
  ForbiddenError,
  GoneError,
  IdempotencyMismatchError,
  Linklog,
  NotFoundError,
  PreconditionFailedError,
  UnauthorizedError,
  verifyWebhook,
  WebhookVerificationError,
  type CloudEvent,
  type LinklogOptions,
} from '../../clients/typescript/src/index.js';
import { createThrough, EventCheck, exportCodes, linkFaults } from '../support/client-check.js';
import { fixture } from '../support/fixture.js';
import { folderFixture } from '../support/fixtures.js';
import { startLossyProxy } from '../support/lossy-proxy.js';
import { generousPlansFile } from '../support/plans.js';
import { seededRandom } from '../support/random.js';
import { receiverFixture } from '../support/receiver.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { eventually, eventuallyPasses, rejection } from '../support/waiting.js';
import { newName } from './domains-harness.js';
import { foreignCursors } from './events-harness.js';
import { productFixture, sharedProduct } from './harness.js';

const url = 'https://example.com/client';

let accounts = 0;

/** A new account. */
const accountOf = (): { readonly account: string } => {
  accounts += 1;
  return { account: `client-${accounts}` };
};

const collect = async <Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> => {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
};

describe('client: calls of a running product', () => {
  const bench = sharedProduct();
  const receiver = receiverFixture();
  const clientOf = async (options: Partial<LinklogOptions> = {}): Promise<Linklog> => {
    const { key } = await bench.key('PRO', accountOf());
    return new Linklog({ key, baseUrl: bench.product.api, ...options });
  };
  const client = fixture(() => clientOf());

  it('create, get, change, list, tag and delete links', async () => {
    const { shortCode } = await client.links.create({ url, tags: ['one', 'two'] });
    const { results } = await client.links.createBatch({ urls: [{ url }, { url: 'ftp://a' }] });
    expect(results.map(({ success }) => success)).to.deep.equal([true, false]);
    const { version } = await client.links.get(shortCode);
    const changed = await client.links.change(shortCode, { title: 'a' }, { ifMatch: version });
    expect(changed).to.include({ title: 'a', version: version + 1 });
    const error = await rejection(client.links.delete(shortCode, { ifMatch: version }));
    expect(error).to.be.instanceOf(PreconditionFailedError);
    await eventuallyPasses(async () => {
      const links = await collect(client.links.list({ tag: ['one', 'two'] }));
      expect(links.map((link) => link.shortCode)).to.deep.equal([shortCode]);
      const pages = await collect(client.links.list({ limit: 1, count: '1' }).pages());
      expect(pages.map((page) => [page.links.length, page.count])).to.deep.equal([
        [1, 2],
        [1, 2],
      ]);
      expect((await collect(client.tags.list())).map(({ tag }) => tag)).to.deep.equal([
        'one',
        'two',
      ]);
    });
    const bulk = await client.links.bulk({
      shortCodes: [shortCode],
      change: { addTags: ['three'] },
    });
    expect(bulk.results[0]).to.include({ success: true, shortCode });
    await client.links.delete(shortCode);
    await client.links.delete(shortCode);
    const history = await collect(client.links.history(shortCode, { limit: 1 }));
    expect(history.map(({ type }) => type.split('.')[1])).to.deep.equal([
      ...['LinkCreated', 'LinkDescribed', 'LinkDescribed', 'LinkDeleted'],
    ]);
    expect(await rejection(client.qr.get(shortCode))).to.be.instanceOf(GoneError);
  });

  it('return the first response for an Idempotency-Key, and reject it with another body', async () => {
    const options = { idempotencyKey: 'order-1' };
    const first = await client.links.create({ url }, options);
    expect(await client.links.create({ url }, options)).to.deep.equal(first);
    const error = await rejection(client.links.create({ url: `${url}/b` }, options));
    expect(error).to.be.instanceOf(IdempotencyMismatchError);
  });

  it('add and remove codes, share statistics, and get clicks, usage and QR codes', async () => {
    const { shortCode } = await client.links.create({ url });
    const alias = `client-${shortCode}`;
    expect((await client.links.addCode(shortCode, { alias })).codes).to.have.length(1);
    await client.links.removeCode(shortCode, alias);
    const share = await client.shares.create(shortCode);
    expect(await collect(client.shares.list(shortCode))).to.have.length(1);
    await client.shares.end(shortCode, share.id);
    expect(await collect(client.shares.list(shortCode))).to.have.length(0);
    await bench.visit(shortCode);
    await eventuallyPasses(async () => {
      const include = ['timeseries'] as const;
      const stats = await client.stats.get(shortCode, { include: [...include] });
      expect(stats).to.have.property('clickCount', 1);
      expect(stats.timeseries).to.have.length.above(0);
      expect((await client.stats.account()).clickCount).to.equal(1);
    });
    expect((await client.usage.get()).links.used).to.be.above(0);
    const png = await client.qr.get(shortCode, { size: 200 });
    expect(Buffer.from(png).toString('latin1', 1, 4)).to.equal('PNG');
    const svg = await client.qr.get(shortCode, { format: 'svg' });
    expect(Buffer.from(svg).toString()).to.include('<svg');
  });

  it('create, change, rotate and revoke keys', async () => {
    const child = await client.keys.create({ name: 'reader', scopes: ['links:read'] });
    const reader = new Linklog({ key: child.key, baseUrl: bench.product.api });
    expect(await rejection(reader.links.create({ url }))).to.be.instanceOf(ForbiddenError);
    expect(await client.keys.change(child.id, { name: 'renamed' })).to.include({ name: 'renamed' });
    const rotated = await client.keys.rotate(child.id);
    expect(await rejection(reader.usage.get())).to.be.instanceOf(UnauthorizedError);
    expect(rotated).to.include({ id: child.id }).and.to.have.property('key').not.equal(child.key);
    expect((await collect(client.keys.list())).map(({ id }) => id)).to.include(child.id);
    await client.keys.revoke(child.id);
    expect((await collect(client.keys.list())).map(({ id }) => id)).not.to.include(child.id);
  });

  it('claim, verify, change and release domains, and address links on them', async () => {
    const domain = newName();
    const { verification } = await client.domains.claim({ domain });
    const error = await rejection(client.domains.verify(domain));
    expect(error).to.be.instanceOf(ConflictError);
    bench.dns.setTxt(verification?.name ?? '', verification?.value ?? '');
    expect(await client.domains.verify(domain)).to.include({ status: 'active' });
    expect(await client.domains.change(domain, { rootRedirect: url })).to.include({
      rootRedirect: url,
    });
    const { shortCode } = await client.links.create({ url, domain });
    expect(await client.links.get(shortCode, { domain })).to.include({ shortCode, domain });
    expect(await rejection(client.links.get(shortCode))).to.be.instanceOf(NotFoundError);
    await client.links.delete(shortCode, { domain });
    expect((await collect(client.domains.list())).map((own) => own.domain)).to.deep.equal([domain]);
    await client.domains.release(domain);
    expect(await rejection(client.domains.get(domain))).to.be.instanceOf(NotFoundError);
  });

  it('import a stream, and export links as objects and as a file', async () => {
    const importer = await clientOf();
    const file = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from('code,url,title\n');
      for (let index = 0; index < 20; index += 1) {
        yield await Promise.resolve(
          Buffer.from(`in-${index},https://example.com/${index},"é, ü"\n`),
        );
      }
      yield Buffer.from('bad/code,https://example.com/\n');
    };
    const { id } = await importer.imports.start(file(), { format: 'csv', onConflict: 'suffix' });
    await eventuallyPasses(async () => {
      expect(await importer.imports.get(id)).to.include({ status: 'done', created: 20, failed: 1 });
    });
    const outcomes = (await collect(importer.imports.rows(id))).map(({ outcome }) => outcome);
    expect(outcomes.sort()).to.deep.equal([...Array<string>(20).fill('created'), 'invalid']);
    const invalid = await collect(importer.imports.rows(id, { outcome: 'invalid' }));
    expect(invalid.map(({ row }) => row)).to.deep.equal([22]);
    await importer.imports.stop(id);
    expect(await collect(importer.imports.list())).to.have.length(1);
    await eventuallyPasses(async () => {
      const exported = await collect(importer.links.export());
      expect(exported).to.have.length(20);
      expect(exported[0]).to.include({ title: 'é, ü', clicks: 0 });
    });
    const csv = Buffer.concat(
      await collect(importer.links.exportFile({ format: 'csv' })),
    ).toString();
    expect(csv.split('\r\n')).to.have.length(22);
    expect(csv).to.match(/^domain,code,/);
  });

  it('create webhooks, whose deliveries verifyWebhook reads, also while two secrets sign', async () => {
    const caller = await clientOf();
    const hook = receiver.hook();
    const { id, secret } = await caller.webhooks.create({ url: hook.url, types: ['LinkCreated'] });
    expect(await caller.webhooks.test(id)).to.include({ delivered: true, status: 204 });
    const rotated = await caller.webhooks.rotate(id, { overlapSeconds: 600 });
    const { shortCode } = await caller.links.create({ url });
    await eventually('the delivery arrives', () => hook.deliveries.length >= 2);
    const [tested, created] = hook.deliveries;
    if (!tested || !created) throw new Error('a delivery is missing');
    const [test] = await verifyWebhook(tested.body, tested.headers, secret);
    expect(test).to.include({ type: 'linklog.WebhookTested.v1' });
    for (const secrets of [secret, rotated.secret, [rotated.secret, secret]]) {
      const [event] = await verifyWebhook(created.body, created.headers, secrets);
      expect(event).to.include({ subject: shortCode });
    }
    const forged = verifyWebhook(`${created.body} `, created.headers, secret);
    expect(await rejection(forged)).to.be.instanceOf(WebhookVerificationError);
    await eventuallyPasses(async () => {
      const deliveries = await collect(caller.webhooks.deliveries(id, { status: 'delivered' }));
      expect(deliveries.map((delivery) => delivery.id)).to.include(created.id);
    });
    await caller.webhooks.retry(id, created.id);
    await eventually('it arrives again', () =>
      hook.deliveries.slice(2).some((delivery) => delivery.id === created.id),
    );
    await caller.webhooks.replay(id, { after: 'start' });
    expect(await caller.webhooks.change(id, { status: 'paused' })).to.include({ status: 'paused' });
    expect(await caller.webhooks.get(id)).to.include({ id, status: 'paused' });
    expect(await collect(caller.webhooks.list())).to.have.length(1);
    await caller.webhooks.delete(id);
    expect(await rejection(caller.webhooks.get(id))).to.be.instanceOf(NotFoundError);
  });

  it('read pages of events', async () => {
    const reader = await clientOf();
    const { shortCode } = await reader.links.create({ url });
    const types = ['LinkCreated', 'LinkDeleted'];
    let next = '';
    await eventuallyPasses(async () => {
      const page = await reader.events.page({ types, after: 'start' });
      expect(page.events.map(({ subject }) => subject)).to.deep.equal([shortCode]);
      next = page.next;
    });
    const last = await reader.events.page({ types, after: next });
    expect(last).to.deep.equal({ events: [], next });
    const error = await rejection(reader.events.page({ types: 'Unknown' }));
    expect(error).to.be.instanceOf(BadRequestError);
  });

  it('stream events through killed connections: each once, in order', async () => {
    const proxy = await startTcpProxy(bench.product.api);
    try {
      const { key } = await bench.key('PRO', accountOf());
      const writer = new Linklog({ key, baseUrl: bench.product.api });
      const reader = new Linklog({ key, baseUrl: proxy.url });
      const { shortCode } = await writer.links.create({ url });
      const failures: unknown[] = [];
      const onRetry = (error: unknown): void => void failures.push(error);
      const types = ['LinkCreated', 'LinkDescribed'];
      const stream = reader.events.stream({ after: 'now', types }, { onRetry });
      const received: CloudEvent[] = [];
      const read = (async () => {
        for await (const event of stream) if (received.push(event) === 12) break;
      })();
      await eventually('the stream has a position', () => stream.cursor !== null);
      const titles: string[] = [];
      const created: string[] = [];
      for (let round = 0; round < 4; round += 1) {
        for (const title of [`${round} a`, `${round} b`]) {
          await writer.links.change(shortCode, { title });
          titles.push(title);
        }
        created.push((await writer.links.create({ url })).shortCode);
        await eventually('some events arrived', () => received.length > round * 3);
        proxy.cut();
      }
      await read;
      const changes = received.filter(({ subject }) => subject === shortCode);
      expect(changes.map(({ data }) => data['title'])).to.deep.equal(titles);
      const others = received.filter(({ subject }) => subject !== shortCode);
      expect(others.map(({ subject }) => subject)).to.have.members(created);
      expect(failures).to.have.length.above(0);
      const end = await reader.events.page({ types, after: stream.cursor ?? '' });
      expect(end.events).to.deep.equal([]);
    } finally {
      await proxy.close();
    }
  });

  it('end a stream when its key ends, or when its cursor is of another log', async () => {
    const child = await client.keys.create({ name: 'streams', scopes: ['events:read'] });
    const reader = new Linklog({ key: child.key, baseUrl: bench.product.api });
    const stream = reader.events.stream({ after: 'now' });
    const read = collect(stream);
    const ended = rejection(read);
    await eventually('the stream has a position', () => stream.cursor !== null);
    await client.keys.revoke(child.id);
    expect(await ended).to.be.instanceOf(UnauthorizedError);
    const { next } = await client.events.page({ after: 'now' });
    for (const [after, expected] of [
      [foreignCursors(next).ofAnotherLog, ConflictError],
      [foreignCursors(next).beyondTheEnd, ConflictError],
      [`${next}x`, BadRequestError],
    ] as const) {
      const error = await rejection(collect(client.events.stream({ after })));
      expect(error).to.be.instanceOf(expected);
    }
  });
});

describe('client: through a proxy that drops, cuts, silences, delays and duplicates a third of the requests', () => {
  const folder = folderFixture();
  const bench = productFixture(async () => ({ PLANS_FILE: await generousPlansFile(folder.path) }));

  it('creates each of 300 links once, and reads the event of each once', async () => {
    const random = seededRandom(72);
    const proxy = await startLossyProxy([bench.product.api], { random, share: 0.33 });
    try {
      const { key } = await bench.key('PRO', accountOf());
      const client = new Linklog({ key, baseUrl: proxy.url, maxRetries: 12, timeoutMs: 2_000 });
      const direct = new Linklog({ key, baseUrl: bench.product.api });
      const returned = await createThrough(client, 300, 30);
      expect(returned.size).to.equal(300);
      await eventuallyPasses(async () => {
        expect(linkFaults(returned, await exportCodes(direct))).to.deep.equal([]);
      });
      expect(Math.min(...Object.values(proxy.counts()))).to.be.above(5);
      const check = new EventCheck();
      const query = { after: 'start', types: ['LinkCreated'] };
      for await (const event of client.events.stream(query, { idleTimeoutMs: 2_000 })) {
        check.add(event);
        if (check.received.size === 300) break;
      }
      expect(check.faults).to.deep.equal([]);
    } finally {
      await proxy.close();
    }
  }).timeout(120_000);
});
