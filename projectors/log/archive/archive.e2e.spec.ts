import { expect } from 'chai';
import { codeIn } from '../../../ops/test/support/documented-code.js';
import {
  startEventStoreDouble,
  type EventStoreDouble,
} from '../../../ops/test/support/eventstore/double.js';
import { parseExposition } from '../../../ops/test/support/exposition.js';
import { sendRequest } from '../../../ops/test/support/http.js';
import { withLedger } from '../../../ops/test/support/ledger-events.js';
import { startProduct, type Product } from '../../../ops/test/support/product.js';
import { eventually } from '../../../ops/test/support/waiting.js';

describe('archive: archive of the running product', () => {
  let double: EventStoreDouble;
  let product: Product;

  before(async function () {
    this.timeout(120_000);
    double = await startEventStoreDouble();
    product = await startProduct({ env: { EVENTSTORE_URL: double.url } });
  });

  after(async () => {
    try {
      await product.stop();
    } finally {
      await product.cleanup();
      double.kill();
    }
  });

  const typesIn = (stream: string): readonly string[] =>
    (double.streams.events(stream) ?? []).map(({ type }) => type);

  const shorten = async (key: string, alias: string): Promise<void> => {
    const answer = await sendRequest(`${product.api}/v2/shorten`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}` },
      body: { url: 'https://example.com/', alias, password: alias },
    });
    expect(answer.status, answer.text).to.equal(201);
  };

  const readiness = async (): Promise<readonly [number, unknown]> => {
    const answer = await sendRequest(`${product.admin}/health/ready`);
    const { dependencies } = answer.json() as { readonly dependencies: Record<string, unknown> };
    return [answer.status, dependencies['archive']];
  };

  const lag = async (): Promise<number | undefined> => {
    const { text } = await sendRequest(`${product.admin}/metrics`);
    return parseExposition(text).find(({ name }) => name === 'linklog_archive_lag_events')?.value;
  };

  it('contains all events, without secrets', async () => {
    const { key, id } = await product.createKey({ plan: 'PRO' });
    await shorten(key, 'archived');
    await eventually('the link is archived', () => typesIn('link-archived').length === 1);
    await eventually('the key is archived', () => typesIn(`key-${id}`).length === 1);
    const stored = [`key-${id}`, 'link-archived'].flatMap(
      (stream) => double.streams.events(stream) ?? [],
    );
    const text = stored.map(({ data }) => Buffer.from(data, 'base64').toString()).join('\n');
    expect(text).to.include('https://example.com/');
    expect(text).to.not.match(/argon2|hash/i);
    expect(await readiness()).to.deep.equal([200, { state: 'up' }]);
  });

  it('may be unavailable: everything is served, health reports it, and it catches up', async function () {
    this.timeout(90_000);
    const { port } = double;
    const { key } = await product.createKey({ plan: 'PRO' });
    double.kill();
    await shorten(key, 'meanwhile');
    await eventually('health reports it', async () => {
      const [status, archive] = await readiness();
      expect(status).to.equal(200);
      return (archive as { readonly state: string }).state === 'down';
    });
    expect(await lag()).to.be.greaterThan(0);
    double = await startEventStoreDouble({ port });
    // A new one has none of the old one's streams: what begins anew is there.
    await eventually('the link is archived', () => typesIn('link-meanwhile').length === 1);
  });

  it('is filled again from the start of the log with the statement of archive.md', async () => {
    const { key } = await product.createKey({ plan: 'PRO' });
    await shorten(key, 'lost');
    await eventually('the link is archived', () => typesIn('link-lost').length === 1);
    double.streams.cut('link-lost', 0);
    const changed = await sendRequest(`${product.api}/v2/links/lost`, {
      method: 'PATCH',
      headers: { Authorization: `Bearer ${key}` },
      body: { title: 'Lost' },
    });
    expect(changed.status, changed.text).to.equal(200);
    await eventually('health reports it', async () => {
      const [, archive] = await readiness();
      return (archive as { readonly code?: string }).code === 'ARCHIVE_CUT';
    });
    const [, statement = ''] =
      /'(TRUNCATE [^']+)'/.exec(codeIn('archive.md', 'sh', 'Monitor')) ?? [];
    await withLedger(product, (pool) => pool.query(statement));
    await eventually('the link is archived again', () => typesIn('link-lost').length === 2);
    await eventually('the archive is up', async () => {
      const [, archive] = await readiness();
      return (archive as { readonly state: string }).state === 'up';
    });
  });
});
