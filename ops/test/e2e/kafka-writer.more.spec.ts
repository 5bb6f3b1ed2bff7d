import { expect } from 'chai';
import { Partitioners, type Producer } from 'kafkajs';
import { createHash } from 'node:crypto';
import { keyToken } from '../../../command-api/keys/key-token.js';
import type { LinklogEvent } from '../../../schemas/events/catalogue.js';
import { topicOf, writeEvent } from '../../../schemas/events/codec.js';
import {
  blocked,
  created,
  deleted,
  disabled,
  edited,
  expired,
  idOf,
  keyChanged,
  keyCreated,
  maintenanceSwitched,
  noon,
  overrideGranted,
  unblocked,
} from '../../../schemas/testing/events.js';
import { kafkaStartMs } from '../support/kafka.js';
import { startLinklogCli, type CommandOutput } from '../support/process.js';
import { startEmbeddedProduct } from '../support/product.js';
import { waitUntilProjected } from '../support/projected.js';
import { eventuallyPasses } from '../support/waiting.js';
import { Bench } from './harness.js';
import { folderFixture, kafkaFixture } from '../support/fixtures.js';

const newest = Number.MAX_SAFE_INTEGER;
const evil = 'https://evil.example/';

/** The tests attack one log, in this order. */
describe('product: an attacker with write access to Kafka', function () {
  this.timeout(60_000);
  const bench = new Bench();
  const kafka = kafkaFixture('writer');
  let producer: Producer;
  const dataDir = folderFixture();
  let env: Record<string, string>;
  let key: string;

  before(async function () {
    this.timeout(kafkaStartMs);
    env = { KAFKA_BROKERS: kafka.brokers, KAFKA_TOPIC_PREFIX: kafka.prefix };
    bench.use(await startEmbeddedProduct({ dataDir: dataDir.path, env }));
    ({ key } = await bench.key('PRO'));
    producer = kafka.client().producer({ createPartitioner: Partitioners.DefaultPartitioner });
    await producer.connect();
  });
  after(async () => {
    await producer.disconnect();
    await bench.product.cleanup();
  });

  /** Writes events like the relay does, and waits until they are projected. */
  const forge = async (...events: readonly LinklogEvent[]): Promise<void> => {
    for (const event of events) {
      await producer.send({
        topic: kafka.prefix + topicOf(event),
        messages: [{ key: event.subject, value: writeEvent(event) }],
      });
    }
    await waitUntilProjected(bench.product.edges);
  };

  const setBlock = (code: string, action: 'block' | 'unblock') =>
    bench.admin('POST', `/admin/links/${code}/${action}`, { reason: 'phishing' });

  const statusOf = async (code: string): Promise<number> => (await bench.visit(code)).status;

  const linklog = (...args: readonly string[]): Promise<CommandOutput> =>
    startLinklogCli(args, { DATA_DIR: dataDir.path, ...env }).ended;

  it('cannot unblock a link or prevent a block', async () => {
    for (const alias of ['harmful', 'harmful-later']) await bench.link(key, { alias });
    await setBlock('harmful', 'block');
    await forge(unblocked('harmful', newest), unblocked('harmful-later', newest));
    expect(await statusOf('harmful')).to.equal(410);
    expect(await statusOf('harmful-later')).to.equal(302);
    expect((await setBlock('harmful-later', 'block')).status).to.equal(200);
    await eventuallyPasses(async () => {
      expect(await statusOf('harmful-later')).to.equal(410);
    });
  });

  it('cannot change the destination of a link, block it or expire it', async () => {
    const { shortCode } = await bench.link(key);
    await forge(
      created(shortCode, { url: evil }, { sequence: 2 }),
      expired(shortCode, 3),
      blocked(shortCode, 4),
      edited(shortCode, 5, { url: evil, expiresAt: noon.toISOString() }),
      disabled(shortCode, 6),
      deleted(shortCode, 7),
    );
    const visit = await bench.visit(shortCode);
    expect([visit.status, visit.headers.location]).to.deep.equal([
      302,
      'https://example.com/somewhere?a=1&b=2',
    ]);
  });

  it('cannot create keys, overrides or switches, or change plans', async () => {
    const forged = keyToken('0'.repeat(32));
    const { id, key: free } = await bench.key('FREE');
    const hash = createHash('sha256').update(forged).digest('hex');
    await forge(
      keyCreated(idOf('mine'), { plan: 'PRO', hash }),
      keyChanged(id, newest, { name: 'mine', plan: 'PRO' }),
      overrideGranted('login', newest, 'default'),
      maintenanceSwitched(newest, true),
    );
    expect((await bench.api('/v2/usage', forged)).status).to.equal(401);
    expect((await bench.api('/v2/usage', free)).json()).to.include({ plan: 'FREE' });
    expect((await bench.shorten(key, { url: evil, alias: 'login' })).status).to.equal(400);
  });

  it('is detected by audit verify, which names each row that depends on a forged event', async () => {
    const { exitCode, stdout } = await linklog('audit', 'verify', '--json');
    expect(exitCode).to.equal(1);
    const { differences } = JSON.parse(stdout) as {
      differences: readonly { model: string; table: string; key: Record<string, string> }[];
    };
    const rows = differences.map(({ model, table, key: row }) =>
      [`${model}.${table}`, ...Object.values(row)].join(' '),
    );
    expect(rows).to.include.members([
      'ledger.links harmful',
      'ledger.alias_overrides login',
      'ledger.platform true',
    ]);
  });
});
