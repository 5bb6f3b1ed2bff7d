import { expect } from 'chai';
import { evolveLedgerLink, initialState } from '../../schemas/folds/ledger-link.js';
import { deciderSpecification } from '../../schemas/testing/decider-specification.js';
import {
  at,
  blocked,
  created,
  edited,
  expired,
  idOf,
  idOfEvent,
  noon,
  unblocked,
  visited,
} from '../../schemas/testing/events.js';
import { unknownVisitor } from '../../schemas/testing/visitor.js';
import { decisionsOf } from '../../command-api/testing/decisions.js';
import { clickDecider, type TakeClick } from './click.js';
import type { VisitData } from '../../ops/visitors/visit-data.js';

const clickAt = (now: Date, data = unknownVisitor, id = idOf(1)): TakeClick => ({
  ...{ type: 'TakeClick', subject: 'spring', data },
  metadata: { now, id, actor: 'visitor', requestId: 'request-1' },
});

const { accepts, refuses } = decisionsOf(
  deciderSpecification({
    ...clickDecider,
    decide: (now: Date, link) => clickDecider.decide(clickAt(now), link),
  }),
);

const createdWith = (maxClicks: number | null, expiresAt: Date | null = null) =>
  created(
    'spring',
    { maxClicks, expiresAt: expiresAt?.toISOString() ?? null },
    { account: 'acme' },
  );
const metadata = (number: number, time: Date) => ({
  id: idOfEvent(number),
  time,
  account: 'acme',
  actor: 'visitor',
  correlationId: 'request-1',
});

describe('redirect edge: taking a click', () => {
  it('is accepted without a limit, and numbers the visit among the link’s clicks', () => {
    for (const [limit, clicks] of [
      [3, 1],
      [null, 41],
    ] as const) {
      const next = visited('spring', clicks + 1, metadata(1, at(1)));
      accepts([createdWith(limit), visited('spring', clicks)], at(1), next);
    }
  });

  it('continues after an initial number of clicks, without a gap in the sequence of visits', () => {
    const limit = edited('spring', 2, { maxClicks: 9, clicks: 6 });
    const click = (number: number, sequence: number, id: number) =>
      visited('spring', number, { ...metadata(id, at(1)), sequence });
    accepts([createdWith(null), limit], at(1), click(7, 1, 1));
    accepts([createdWith(null), limit, click(7, 1, 9)], at(1), click(8, 2, 1));
    // A rebuild folds visits after all link events.
    const removed = edited('spring', 2, { maxClicks: null });
    accepts([createdWith(5), removed, limit, visited('spring', 1)], at(1), click(7, 2, 1));
  });

  it('is refused before the start', () => {
    const scheduled = created('spring', { maxClicks: 3, startsAt: at(60).toISOString() });
    refuses([scheduled], at(59.999), 'notFound');
    const first = visited('spring', 1, { ...metadata(1, at(60)), account: 'default' });
    accepts([scheduled], at(60), first);
  });

  it('records the data of the visit', () => {
    const known: VisitData = { ...unknownVisitor, country: 'DE', visitor: 'q83vASNFZ4mrze8B' };
    const state = evolveLedgerLink(initialState, createdWith(3));
    const decision = clickDecider.decide(clickAt(at(1), known), state);
    if (decision.type !== 'accepted') throw new Error('the click was refused');
    expect(decision.events.map(({ data }) => data)).to.deep.equal([{ click: 1, ...known }]);
  });

  it('expires the link with its last one, also after an unblock', () => {
    const expiry = { ...metadata(2, at(1)), causationId: idOf(1) };
    const last = visited('spring', 1, metadata(1, at(1)));
    accepts([createdWith(1)], at(1), last, expired('spring', 2, 'clicks', expiry));
    const lifted = [createdWith(1), blocked('spring', 2), unblocked('spring', 3)];
    accepts(lifted, at(1), last, expired('spring', 4, 'clicks', expiry));
  });

  it('is never dated before the link’s last event', () => {
    const history = [createdWith(3), visited('spring', 1, { time: at(50) })];
    accepts(history, at(1), visited('spring', 2, metadata(1, at(50))));
  });

  it('is refused without a link, and after the last click, also before LinkExpired is recorded', () => {
    refuses([], noon, 'notFound');
    const last = [createdWith(1), visited('spring', 1)];
    refuses(last, noon, 'expired');
    refuses([...last, expired('spring', 2, 'clicks')], noon, 'expired');
  });

  it('is refused from the millisecond of the expiry on', () => {
    const link = createdWith(3, at(60));
    accepts([link], at(59.999), visited('spring', 1, metadata(1, at(59.999))));
    refuses([link], at(60), 'expired');
    refuses([link, expired('spring', 2)], at(1), 'expired');
  });

  it('is refused while blocked, in any other state', () => {
    refuses([createdWith(3), blocked('spring', 2)], noon, 'blocked');
    const over = [createdWith(1, at(60)), visited('spring', 1), blocked('spring', 2)];
    refuses(over, at(90), 'blocked');
  });
});
