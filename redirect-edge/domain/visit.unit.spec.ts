import { expect } from 'chai';
import { evolveLink, noLink } from '../../schemas/folds/link.js';
import type { LinkEvent } from '../../schemas/events/catalogue.js';
import { deciderSpecification } from '../../schemas/testing/decider-specification.js';
import { at, blocked, created, expired, noon, unblocked } from '../../schemas/testing/events.js';
import type { LinkState } from '../../schemas/folds/link.js';
import { answerVisit, servedLink, type Visit, type VisitAnswer } from './visit.js';

const given = deciderSpecification<LinkState, LinkEvent, Visit, VisitAnswer>({
  initialState: noLink,
  evolve: evolveLink,
  decide: (visit, state) => answerVisit(servedLink(state), visit),
});

const visit = (told: Partial<Visit> = {}): Visit => ({
  head: false,
  bot: false,
  now: noon.getTime(),
  ...told,
});
const kinds = [
  visit(),
  visit({ head: true }),
  visit({ bot: true }),
  visit({ head: true, bot: true }),
];

const unlimited = created('spring');
const limited = created('spring', { maxClicks: 3 });
const ending = created('spring', { expiresAt: at(60).toISOString() });

describe('what a visitor gets', () => {
  it('is the destination, counted, bots too; HEAD is not counted', () => {
    given(unlimited).when(visit()).then({ type: 'redirect', counted: true });
    given(unlimited)
      .when(visit({ bot: true }))
      .then({ type: 'redirect', counted: true });
    for (const bot of [true, false]) {
      given(unlimited)
        .when(visit({ head: true, bot }))
        .then({ type: 'redirect', counted: false });
    }
  });

  it('is one of the clicks of a limited link, or nothing for who would not be counted', () => {
    given(limited).when(visit()).then({ type: 'takeClick' });
    for (const kind of kinds.slice(1)) given(limited).when(kind).then({ type: 'conceal' });
  });

  it('is nothing where there is no link', () => {
    for (const kind of kinds) given().when(kind).then({ type: 'notFound' });
  });

  it('is the news of the expiry from the very millisecond on', () => {
    given(ending)
      .when(visit({ now: at(59.999).getTime() }))
      .then({ type: 'redirect', counted: true });
    for (const kind of kinds) {
      given(ending)
        .when({ ...kind, now: at(60).getTime() })
        .then({ type: 'expired' });
    }
  });

  it('is the news of what happened to the link, whoever asks', () => {
    for (const link of [unlimited, limited, ending]) {
      for (const kind of kinds) {
        given(link, expired('spring', 2)).when(kind).then({ type: 'expired' });
        given(link, blocked('spring', 2)).when(kind).then({ type: 'blocked' });
        given(link, blocked('spring', 2), expired('spring', 3))
          .when({ ...kind, now: at(90).getTime() })
          .then({ type: 'blocked' });
        given(link, blocked('spring', 2), expired('spring', 3), unblocked('spring', 4))
          .when(kind)
          .then({ type: 'expired' });
      }
    }
  });
});

describe('a link as the edge keeps it', () => {
  it('is worked out once', () => {
    const data = { url: 'https://exämple.com/ä', maxClicks: 3, expiresAt: at(60).toISOString() };
    const state = evolveLink(noLink, created('spring', data, { account: 'acme' }));
    expect(servedLink(state)).to.deep.equal({
      code: 'spring',
      account: 'acme',
      status: 'active',
      location: 'https://xn--exmple-cua.com/%C3%A4',
      expiresAt: at(60).getTime(),
      limited: true,
    });
  });

  it('has no end and no limit where none was asked for', () => {
    expect(servedLink(evolveLink(noLink, unlimited))).to.include({
      expiresAt: Infinity,
      limited: false,
    });
  });
});
