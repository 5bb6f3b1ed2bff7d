import { expect } from 'chai';
import { parseChange } from '../../../ops/ledger/changes.js';
import { noPosition } from '../../../ops/event-log/outbox/port.js';
import { createLogger } from '../../../ops/platform/logging.js';
import {
  listenToPostgres,
  type NotificationListener,
} from '../../../ops/platform/postgres/listener.js';
import { foldedLinks, recordHistory, storedLinks } from '../../../ops/test/support/ledger-links.js';
import { eventually } from '../../../ops/test/support/waiting.js';
import { type TestNode } from '../../../ops/test/support/node.js';
import { at, created } from '../../../schemas/testing/events.js';
import { actor } from '../../testing/keys.js';
import { onBoth } from '../../testing/nodes.js';
import { expireDueLinks } from '../expire/expiry.js';
import { createLinkBlockHandler } from './handler.js';
import { platformDecider, type SwitchPlatform } from '../../platform/command.js';
import { decideOne } from '../../../ops/ledger/decide.js';
import { platformSwitches, readPlatform } from '../../../ops/ledger/platform.js';
import { platformSubject } from '../../../schemas/folds/platform.js';
import { fixture } from '../../../ops/test/support/fixture.js';
import { databaseFixture, twoLedgersFixture } from '../../../ops/test/support/fixtures.js';

const block = { type: 'BlockLink', reason: 'phishing' } as const;
const unblock = { type: 'UnblockLink', reason: 'a mistake' } as const;

describe('command API: blocks and switches, on two nodes', () => {
  const database = databaseFixture('blocks');
  const nodes = twoLedgersFixture(database);
  const handlers = fixture(() =>
    onBoth(nodes, ({ pool, outbox }) => createLinkBlockHandler(pool, outbox)),
  );
  let listener: NotificationListener;
  let changes: unknown[];

  before(async () => {
    listener = listenToPostgres(database.url, ['linklog_changes'], createLogger('silent'));
    listener.on('linklog_changes', (payload) => changes.push(parseChange(payload)));
    let listens = false;
    listener.onGap((state) => {
      listens = state === 'back';
    });
    await eventually('it listens', () => listens);
  });

  beforeEach(() => {
    changes = [];
  });

  afterEach(async () => {
    expect(await storedLinks(nodes[0])).to.deep.equal(await foldedLinks(nodes[0]));
  });

  after(async () => {
    await listener.close();
  });

  const eventsOf = async (topic: 'links' | 'platform', subject: string) =>
    (await nodes[0].events(topic)).filter((event) => event.subject === subject);

  it('notifies all processes of changes only', async () => {
    await recordHistory(nodes[0], created('spring'));
    expect(await handlers[0].handle('spring', block, actor)).to.have.lengthOf(1);
    expect(await handlers[1].handle('spring', block, actor)).to.equal(noPosition);
    expect(await handlers[1].handle('unknown', block, actor)).to.equal('notFound');
    expect(await handlers[1].handle('spring', unblock, actor)).to.have.lengthOf(1);
    await eventually('both changes arrived', () => changes.length >= 2);
    expect(changes).to.deep.equal([
      { kind: 'link', subject: 'spring', sequence: 2 },
      { kind: 'link', subject: 'spring', sequence: 3 },
    ]);
  });

  it('writes consecutive sequences for concurrent decisions of operators and the clock', async () => {
    const codes = Array.from({ length: 20 }, (_, number) => `due-${number}`);
    const past = { expiresAt: at(1).toISOString() };
    await recordHistory(nodes[0], ...codes.map((code) => created(code, past)));
    const sweep = (node: TestNode) => expireDueLinks(node.pool, node.outbox, node.clock);
    await Promise.all([
      ...codes.map(async (code, number) => {
        const [first, second] = number % 2 === 0 ? handlers : [handlers[1], handlers[0]];
        // One of two concurrent blocks changes nothing.
        await Promise.all([first.handle(code, block, actor), second.handle(code, block, actor)]);
        await second.handle(code, unblock, actor);
        await first.handle(code, block, actor);
      }),
      ...nodes.map(sweep),
      ...nodes.map(sweep),
    ]);
    // Links that were locked before.
    await sweep(nodes[0]);
    for (const code of codes) {
      const events = await eventsOf('links', code);
      expect(events.map(({ sequence }) => sequence)).to.deep.equal([1, 2, 3, 4, 5]);
      const blocks = events.map(({ type }) => type).filter((type) => !type.includes('Expired'));
      const changes = ['LinkCreated.v4', 'LinkBlocked.v1', 'LinkUnblocked.v1', 'LinkBlocked.v1'];
      expect(blocks).to.deep.equal(changes.map((change) => `linklog.${change}`));
    }
  });

  it('keeps all concurrent switches of two nodes', async () => {
    const [first, second] = nodes;
    const set = (node: TestNode, data: SwitchPlatform['data']) =>
      decideOne(node, platformSwitches, platformDecider, {
        ...{ type: 'SwitchPlatform', subject: platformSubject, data, metadata: actor },
      });
    await set(first, { features: { passwords: true } });
    const before = (await eventsOf('platform', 'platform')).length;
    changes = [];
    await Promise.all([
      set(first, { maintenance: true }),
      set(second, { maintenance: true, features: { qr: false } }),
      set(first, { features: { aliases: false } }),
      set(second, { features: { aliases: false, shortening: false } }),
    ]);
    const features = { aliases: false, qr: false, shortening: false };
    expect(await readPlatform(second.pool)).to.deep.include({
      maintenance: true,
      features: { ...features, passwords: true, expiration: true },
    });
    const events = await eventsOf('platform', 'platform');
    expect(events.slice(before)).to.have.length(4);
    expect(events.map(({ sequence }) => sequence)).to.deep.equal(events.map((_, n) => n + 1));
    await eventually('a change arrived', () => changes.length > 0);
    expect(new Set(changes.map((change) => JSON.stringify(change)))).to.deep.equal(
      new Set(['{"kind":"platform"}']),
    );
  });
});
