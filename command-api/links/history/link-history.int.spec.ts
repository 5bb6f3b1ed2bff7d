import { expect } from 'chai';
import { execute, transaction } from '../../../ops/platform/postgres/pool.js';
import { history } from '../../../projectors/history/projection.js';
import { feed } from '../../../projectors/testing/harness.js';
import { emptyTables } from '../../../projectors/testing/tables.js';
import type { LinklogEvent } from '../../../schemas/events/catalogue.js';
import { publicDataOf, withoutSecrets } from '../../../schemas/events/redact.js';
import { blocked, created, described, unblocked } from '../../../schemas/testing/events.js';
import { findLinkHistory } from './link-history.js';
import { databaseFixture, ledgerFixture } from '../../../ops/test/support/fixtures.js';

interface Page {
  readonly events: readonly Readonly<Record<'actor' | 'correlationid' | 'data', unknown>>[];
  readonly next: number | null;
}

const maxBytes = 500_000;
const subject = 'abc';

describe('command API: history of a link', () => {
  const database = databaseFixture('link-history');
  const node = ledgerFixture(database);

  beforeEach(async () => {
    await emptyTables(database.pool, 'projection_history');
    await database.pool.query('DELETE FROM log.records');
  });

  const project = (events: readonly LinklogEvent[]): Promise<void> =>
    feed(database.pool, history).events(...events);
  const record = (events: readonly LinklogEvent[]) =>
    transaction(node.pool, (tx) => execute(tx, node.outbox.record(events)));

  const pagesOf = async (limit: number): Promise<readonly Page[]> => {
    const pages: Page[] = [];
    for (let after: number | null = 0; after !== null;) {
      const text = await findLinkHistory(node.pool, node.outbox, { subject, after, limit });
      if (text === null) throw new Error('findLinkHistory() returned null');
      expect(text.length).to.be.at.most(maxBytes);
      const page = JSON.parse(String(text)) as Page;
      pages.push(page);
      after = page.next;
    }
    return pages;
  };

  const asSent = (events: readonly LinklogEvent[]): unknown =>
    JSON.parse(JSON.stringify(events.map(withoutSecrets)));

  const longEvents = [
    created(subject, { passwordHash: 'secret' }),
    ...Array.from({ length: 299 }, (_, index) =>
      described(subject, index + 2, { note: '\u{1F517}'.repeat(2_000) }),
    ),
  ];

  for (const [where, projected] of [
    ['the projection', 300],
    ['the outbox', 0],
    ['both', 100],
  ] as const) {
    it(`has pages of at most 0.5 MB, without gaps or repeats, from ${where}`, async () => {
      await project(longEvents.slice(0, projected));
      await record(longEvents.slice(projected));
      const pages = await pagesOf(1_000);
      expect(pages.flatMap(({ events }) => events)).to.deep.equal(asSent(longEvents));
      expect(pages).to.have.lengthOf(5);
    });
  }

  it('has up to 1,000 short events in a page', async () => {
    const events = [
      created(subject),
      ...Array.from({ length: 1_000 }, (_, index) => described(subject, index + 2, { note: 'a' })),
    ];
    await project(events);
    expect((await pagesOf(1_000)).map((page) => page.events.length)).to.deep.equal([1_000, 1]);
  });

  it('hides name, reason and request ID of operators from the owner', async () => {
    const bySystem = created(subject, {}, { actor: 'system', correlationId: 'request-0' });
    const operator = { actor: 'maria', correlationId: 'request-1' };
    const note = 'a "reason": b';
    const described3 = described(subject, 3, { note }, operator);
    await project([bySystem, blocked(subject, 2, operator), described3]);
    await record([unblocked(subject, 4, operator)]);
    const request = { subject, after: 0, limit: 10, forOwner: true };
    const text = await findLinkHistory(node.pool, node.outbox, request);
    const { events } = JSON.parse(String(text)) as Page;
    const shown = events.map(({ actor, correlationid, data }) => [actor, correlationid, data]);
    expect(shown).to.deep.equal([
      ['system', 'request-0', publicDataOf(bySystem)],
      ...[{}, { note }, {}].map((data) => ['operator', undefined, data]),
    ]);
  });

  it('is null for an unused subject, and empty after the last event', async () => {
    await project([created(subject)]);
    const find = (subject: string, after: number) =>
      findLinkHistory(node.pool, node.outbox, { subject, after, limit: 10 });
    expect(await find('nothing', 0)).to.equal(null);
    expect(await find('nothing', 3)).to.equal(null);
    expect(String(await find(subject, 1))).to.equal('{"events":[],"next":null,"actorNames":{}}');
  });
});
