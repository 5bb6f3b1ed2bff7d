import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import { expect } from 'chai';
import { parseChange } from '../../ops/ledger/changes.js';
import { createLogger } from '../../ops/platform/logging.js';
import { listenToPostgres } from '../../ops/platform/postgres/listener.js';
import { foldedLinks, recordHistory, storedLinks } from '../../ops/test/support/ledger-links.js';
import { named } from '../../ops/test/support/node.js';
import { eventually } from '../../ops/test/support/waiting.js';
import { blocked, created, expired } from '../../schemas/testing/events.js';
import { unknownVisitor } from '../../schemas/testing/visitor.js';
import { ClickBudget } from './click-budget.js';
import { databaseFixture, twoLedgersFixture } from '../../ops/test/support/fixtures.js';
import { fixture } from '../../ops/test/support/fixture.js';

const count = (outcomes: readonly string[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
};

describe('redirect edge: click budget, on two nodes', () => {
  const database = databaseFixture('clicks');
  const nodes = twoLedgersFixture(database);
  const budgets = fixture((): readonly [ClickBudget, ClickBudget] => [
    new ClickBudget(nodes[0].pool, nodes[0].outbox),
    new ClickBudget(nodes[1].pool, nodes[1].outbox),
  ]);

  const take = (subject: string, visitor: number): ReturnType<ClickBudget['take']> =>
    budgets[visitor % 2 === 0 ? 0 : 1].take({
      subject,
      requestId: `visitor-${visitor}`,
      data: unknownVisitor,
    });

  const expectFolded = async (): Promise<void> => {
    expect(await storedLinks(nodes[0])).to.deep.equal(await foldedLinks(nodes[0]));
  };

  for (const maxClicks of [1, 5, 100]) {
    it(`accepts exactly ${maxClicks} clicks of 500 concurrent visitors`, async () => {
      const subject = `limit-${maxClicks}`;
      await recordHistory(nodes[0], created(subject, { maxClicks }, { account: 'acme' }));
      const taking = Array.from({ length: 500 }, (_, visitor) => take(subject, visitor));
      expect(count(await Promise.all(taking))).to.deep.equal({
        taken: maxClicks,
        expired: 500 - maxClicks,
      });
      const ofLink = (event: LinklogEvent): boolean => event.subject === subject;
      const visits = named('LinkVisited', await nodes[0].events('visits')).filter(ofLink);
      const expiries = named('LinkExpired', await nodes[0].events('links')).filter(ofLink);
      const numbers = Array.from({ length: maxClicks }, (_, index) => index + 1);
      expect(visits.map(({ data }) => data.click)).to.deep.equal(numbers);
      expect(new Set(visits.map(({ correlationid }) => correlationid)).size).to.equal(maxClicks);
      expect(expiries).to.have.length(1);
      const expiry = { data: { reason: 'clicks' }, causationid: visits.at(-1)?.id, sequence: 2 };
      expect(expiries[0]).to.deep.include(expiry);
      await expectFolded();
    });
  }

  it('refuses clicks beyond the limit without an event', async () => {
    const past = { expiresAt: '2026-01-01T00:00:00.000Z', maxClicks: 9 };
    await recordHistory(
      nodes[0],
      created('over', past),
      created('ended', { maxClicks: 9 }),
      expired('ended', 2),
      created('bad', { maxClicks: 9 }),
      blocked('bad', 2),
    );
    const before = (await nodes[0].events('visits')).length;
    const taking = ['over', 'ended', 'bad', 'never'].map((subject, index) => take(subject, index));
    expect(await Promise.all(taking)).to.deep.equal(['expired', 'expired', 'blocked', 'notFound']);
    expect(await nodes[0].events('visits')).to.have.length(before);
  });

  it('refuses the visitor after 10,000 waiting ones', async () => {
    const visits = Array.from({ length: 10_001 }, () => take('never', 0));
    const outcomes = await Promise.allSettled(visits);
    expect(outcomes.findIndex(({ status }) => status === 'rejected')).to.equal(10_000);
    expect(outcomes.at(-1)).to.have.nested.property('reason.code', 'OVERLOADED');
  });

  it('neither deadlocks nor exceeds a limit with overlapping groups', async () => {
    const limits = Array.from({ length: 40 }, (_, index) => 50 + index);
    const codeOf = (index: number): string => `mixed-${(index * 7) % limits.length}`;
    await recordHistory(
      nodes[0],
      ...limits.map((maxClicks, index) => created(codeOf(index), { maxClicks })),
    );
    const outcomes: string[] = [];
    const visitor = async (number: number): Promise<void> => {
      while (outcomes.length < 4_000) {
        const subject = codeOf(Math.floor(Math.random() * limits.length));
        outcomes.push(await take(subject, number));
      }
    };
    await Promise.all(Array.from({ length: 60 }, (_, number) => visitor(number)));
    // The remaining clicks of every link.
    const rest = limits.flatMap((limit, index) =>
      Array.from({ length: limit }, (_, number) => take(codeOf(index), number)),
    );
    outcomes.push(...(await Promise.all(rest)));
    expect(count(outcomes)['taken']).to.equal(limits.reduce((sum, limit) => sum + limit, 0));
    const expiries = named('LinkExpired', await nodes[0].events('links'));
    const mixed = expiries.filter(({ subject }) => subject.startsWith('mixed-'));
    expect(mixed.map(({ subject }) => subject).sort()).to.deep.equal(
      limits.map((_, index) => codeOf(index)).sort(),
    );
    await expectFolded();
  });

  it('notifies every edge of a link when its last click is taken', async () => {
    const logger = createLogger('silent');
    const listener = listenToPostgres(database.url, ['linklog_changes'], logger);
    const changes: unknown[] = [];
    listener.on('linklog_changes', (payload) => changes.push(parseChange(payload)));
    try {
      await eventually('the listener is connected', () => listener.listening);
      const links = [created('two', { maxClicks: 2 }), created('one', { maxClicks: 1 })];
      await recordHistory(nodes[0], ...links);
      for (const subject of ['two', 'two', 'two', 'one']) await take(subject, 0);
      await eventually('the last change is notified', () => changes.length >= 2);
      expect(changes).to.deep.equal([
        { kind: 'link', subject: 'two', sequence: 2 },
        { kind: 'link', subject: 'one', sequence: 2 },
      ]);
    } finally {
      await listener.close();
    }
  });
});
