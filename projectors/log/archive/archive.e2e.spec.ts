import { expect } from 'chai';
import {
  startEventStoreDouble,
  type EventStoreDouble,
} from '../../../ops/test/support/eventstore/double.js';
import { parseExposition } from '../../../ops/test/support/exposition.js';
import { sendRequest } from '../../../ops/test/support/http.js';
import { startProduct, type Product } from '../../../ops/test/support/product.js';
import { eventually } from '../../../ops/test/support/waiting.js';
import { ownerStream } from './owner.js';

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

  const readiness = async () => {
    const response = await sendRequest(`${product.admin}/health/ready`);
    const { dependencies } = response.json() as {
      readonly dependencies: {
        readonly archive: { readonly state: string };
      };
    };
    return { status: response.status, ...dependencies.archive };
  };

  const isArchived = (alias: string): Promise<void> =>
    eventually(`${alias} is archived`, () => typesIn(`link-${alias}`).length === 1);

  it('contains all events, without secrets', async () => {
    const { key, id } = await product.createKey({ plan: 'PRO' });
    await shorten(key, 'archived');
    await isArchived('archived');
    await eventually('the key is archived', () => typesIn(`key-${id}`).length === 1);
    const stored = [`key-${id}`, 'link-archived'].flatMap(
      (stream) => double.streams.events(stream) ?? [],
    );
    const text = stored.map(({ data }) => Buffer.from(data, 'base64').toString()).join('\n');
    expect(text).to.include('https://example.com/');
    expect(text).to.not.match(/argon2|hash/i);
    expect(await readiness()).to.deep.equal({ status: 200, state: 'up' });
  });

  it('may be unavailable: everything is served, health and lag report it, and it catches up', async function () {
    this.timeout(90_000);
    const { port, streams } = double;
    const { key } = await product.createKey({ plan: 'PRO' });
    double.kill();
    await shorten(key, 'meanwhile');
    await eventually('health reports it', async () => {
      const { status, state } = await readiness();
      expect(status).to.equal(200);
      return state === 'down';
    });
    const { text } = await sendRequest(`${product.admin}/metrics`);
    const lag = parseExposition(text).find(({ name }) => name === 'linklog_archive_lag_events');
    expect(lag?.value).to.be.greaterThan(0);
    double = await startEventStoreDouble({ port, streams });
    await isArchived('meanwhile');
    expect(typesIn(ownerStream)).to.deep.equal(['linklog.ArchiveStarted']);
  });
});
