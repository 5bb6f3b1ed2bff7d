import { expect } from 'chai';
import type { LinklogEvent } from '../../schemas/events/catalogue.js';

import { topics, type TopicName } from '../../schemas/events/topics.js';
import {
  blocked,
  created,
  featureSwitched,
  keyChanged,
  keyCreated,
  metered,
  overrideGranted,
  recordOf,
  spooledVisit,
  visited,
} from '../../schemas/testing/events.js';
import { transaction } from '../platform/postgres/pool.js';
import { findUnknownEvent } from './behind-log.js';
import { addToLedger } from './rebuild/rebuild.js';
import { databaseFixture, ledgerFixture } from '../test/support/fixtures.js';

const { links, visits, accounts, platform, usage } = topics;

describe('ledger: older than its log', () => {
  const database = databaseFixture('behind');
  const node = ledgerFixture(database);

  const unknown = (knownThrough = 0): Promise<LinklogEvent | null> =>
    findUnknownEvent({ ...node, knownThrough: () => Promise.resolve(knownThrough) });

  const fold = (topic: TopicName, ...events: readonly LinklogEvent[]): Promise<void> => {
    const records = events.map((event, offset) => ({ ...recordOf(event), offset }));
    return transaction(node.pool, (tx) => addToLedger(tx, 'ledger', topic, records));
  };

  const events: readonly (readonly [TopicName, LinklogEvent])[] = [
    [accounts.name, keyCreated('key-1')],
    [accounts.name, keyChanged('key-1', 2, { name: 'website', plan: 'PRO' })],
    [accounts.name, overrideGranted('paypal', 1, 'acme')],
    [links.name, created('spring', { maxClicks: 3 })],
    [links.name, blocked('spring', 2)],
    [visits.name, visited('spring', 1)],
    [platform.name, featureSwitched(1, 'qr', false)],
    [usage.name, metered('key-1', 1, 5)],
  ];

  for (const [topic, event] of events) {
    it(`lacks ${event.type} with sequence ${event.sequence} until it is folded`, async () => {
      await node.log.append(topic, [recordOf(event)]);
      expect(await unknown()).to.deep.equal(event);
      expect(await unknown(1_000)).to.equal(null);
      await fold(topic, event);
      expect(await unknown()).to.equal(null);
    });
  }

  it('is detected before a repeat of an older event', async () => {
    const late = blocked('summer', 2);
    await node.log.append(links.name, [created('summer'), late, created('summer')].map(recordOf));
    expect(await unknown()).to.deep.equal(late);
    await fold(links.name, created('summer'), late);
    expect(await unknown()).to.equal(null);
  });

  it('ignores spooled visits and unreadable records', async () => {
    await node.log.append(visits.name, [
      recordOf(spooledVisit('spring', { sequence: 99 })),
      { key: 'spring', value: 'no event' },
    ]);
    expect(await unknown()).to.equal(null);
  });
});
