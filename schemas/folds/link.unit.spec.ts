import { foldSpecification } from '../testing/decider-specification.js';
import { blocked, created, expired, unblocked } from '../testing/events.js';
import { evolveLink, noLink, type LinkState } from './link.js';

const given = foldSpecification({ initialState: noLink, evolve: evolveLink });

const made = created(
  'spring',
  { expiresAt: '2026-06-01T00:00:00.000Z', maxClicks: 3, passwordHash: '$argon2id$…' },
  { account: 'acme' },
);
const link = {
  code: 'spring',
  url: 'https://example.com/spring',
  account: 'acme',
  createdAt: '2026-05-20T12:00:00.000Z',
  expiresAt: '2026-06-01T00:00:00.000Z',
  maxClicks: 3,
  passwordHash: '$argon2id$…',
};
const active: LinkState = { status: 'active', link };
const expiredByClicks: LinkState = { status: 'expired', link, reason: 'clicks' };
const blockedState: LinkState = { status: 'blocked', link, expired: null };

describe('schemas: link’s state', () => {
  it('is what LinkCreated said', () => {
    given(made).then(active);
  });

  it('belongs to the account default where none is told', () => {
    given(created('plain')).then({
      status: 'active',
      link: {
        code: 'plain',
        url: 'https://example.com/plain',
        account: 'default',
        createdAt: '2026-05-20T12:00:00.000Z',
        expiresAt: null,
        maxClicks: null,
        passwordHash: null,
      },
    });
  });

  it('is not changed by a second LinkCreated', () => {
    const again = created('spring', { url: 'https://example.net/' }, { sequence: 2 });
    given(made).when(again).thenNothingChanges();
    given(made, expired('spring', 2)).when(again).thenNothingChanges();
  });

  it('is none for what was never made', () => {
    for (const event of [expired('spring', 1), blocked('spring', 1), unblocked('spring', 1)]) {
      given().when(event).then(noLink);
    }
  });

  it('is expired for the first reason that it expired for', () => {
    given(made)
      .when(expired('spring', 2, 'clicks'))
      .then(expiredByClicks);
    given(made, expired('spring', 2, 'clicks'))
      .when(expired('spring', 3))
      .thenNothingChanges();
  });

  it('is blocked until it is unblocked', () => {
    given(made).when(blocked('spring', 2)).then(blockedState);
    given(made, blocked('spring', 2)).when(blocked('spring', 3)).thenNothingChanges();
    given(made, blocked('spring', 2)).when(unblocked('spring', 3)).then(active);
    given(made).when(unblocked('spring', 2)).thenNothingChanges();
    given(made, expired('spring', 2)).when(unblocked('spring', 3)).thenNothingChanges();
  });

  it('is expired beneath a block, whichever came first', () => {
    const orders = [
      [blocked('spring', 2), expired('spring', 3, 'clicks')],
      [expired('spring', 2, 'clicks'), blocked('spring', 3)],
      [blocked('spring', 2), expired('spring', 3, 'clicks'), expired('spring', 4, 'time')],
    ];
    for (const history of orders) {
      given(made, ...history).then({ status: 'blocked', link, expired: 'clicks' });
      given(made, ...history)
        .when(unblocked('spring', 5))
        .then(expiredByClicks);
    }
  });
});
