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
import { clickDecider, type TakeClick } from './click.js';
import type { VisitData } from '../../ops/visitors/visit-data.js';

const clickAt = (now: Date, data = unknownVisitor, id = idOf(1)): TakeClick => ({
  ...{ type: 'TakeClick', subject: 'spring', data },
  metadata: { now, id, actor: 'visitor', requestId: 'request-1' },
});

const given = deciderSpecification({
  ...clickDecider,
  decide: (now: Date, link) => clickDecider.decide(clickAt(now), link),
});

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
      given(createdWith(limit), visited('spring', clicks))
        .when(at(1))
        .then(visited('spring', clicks + 1, metadata(1, at(1))));
    }
  });

  it('continues after an initial number of clicks, without a gap in the sequence of visits', () => {
    const limit = edited('spring', 2, { maxClicks: 9, clicks: 6 });
    const click = (number: number, sequence: number, id: number) =>
      visited('spring', number, { ...metadata(id, at(1)), sequence });
    given(createdWith(null), limit)
      .when(at(1))
      .then(click(7, 1, 1));
    given(createdWith(null), limit, click(7, 1, 9))
      .when(at(1))
      .then(click(8, 2, 1));
    // A rebuild folds visits after all link events.
    given(createdWith(5), edited('spring', 2, { maxClicks: null }), limit, visited('spring', 1))
      .when(at(1))
      .then(click(7, 2, 1));
  });

  it('is refused before the start', () => {
    const scheduled = created('spring', { maxClicks: 3, startsAt: at(60).toISOString() });
    given(scheduled).when(at(59.999)).thenRefused('notFound');
    given(scheduled)
      .when(at(60))
      .then(visited('spring', 1, { ...metadata(1, at(60)), account: 'default' }));
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
    given(createdWith(1))
      .when(at(1))
      .then(last, expired('spring', 2, 'clicks', expiry));
    given(createdWith(1), blocked('spring', 2), unblocked('spring', 3))
      .when(at(1))
      .then(last, expired('spring', 4, 'clicks', expiry));
  });

  it('is never dated before the link’s last event', () => {
    given(createdWith(3), visited('spring', 1, { time: at(50) }))
      .when(at(1))
      .then(visited('spring', 2, metadata(1, at(50))));
  });

  it('is refused without a link, and after the last click, also before LinkExpired is recorded', () => {
    given().when(noon).thenRefused('notFound');
    const last = [createdWith(1), visited('spring', 1)];
    given(...last)
      .when(noon)
      .thenRefused('expired');
    given(...last, expired('spring', 2, 'clicks'))
      .when(noon)
      .thenRefused('expired');
  });

  it('is refused from the millisecond of the expiry on', () => {
    const link = createdWith(3, at(60));
    expect(given(link).when(at(59.999)).decision.type).to.equal('accepted');
    given(link).when(at(60)).thenRefused('expired');
    given(link, expired('spring', 2)).when(at(1)).thenRefused('expired');
  });

  it('is refused while blocked, in any other state', () => {
    given(createdWith(3), blocked('spring', 2)).when(noon).thenRefused('blocked');
    given(createdWith(1, at(60)), visited('spring', 1), blocked('spring', 2))
      .when(at(90))
      .thenRefused('blocked');
  });
});
