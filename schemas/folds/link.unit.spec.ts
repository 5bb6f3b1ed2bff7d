import { foldSpecification } from '../testing/decider-specification.js';
import {
  at,
  blocked,
  created,
  deleted,
  described,
  disabled,
  edited,
  enabled,
  expired,
  noon,
  unblocked,
} from '../testing/events.js';
import { noRestraints, type Restraints } from './link-status.js';
import { evolveLink, linkState, initialState, type Link } from './link.js';

const given = foldSpecification({ initialState, evolve: evolveLink });

const made = created(
  'spring',
  {
    ...{ expiresAt: '2026-06-01T00:00:00.000Z', maxClicks: 3, passwordHash: '$argon2id$…' },
    ...{ title: 'Spring', note: 'For May', tags: ['sale'] },
  },
  { account: 'acme' },
);
const link: Link = {
  code: 'spring',
  url: 'https://example.com/spring',
  account: 'acme',
  custom: false,
  createdAt: '2026-05-20T12:00:00.000Z',
  startsAt: null,
  expiresAt: '2026-06-01T00:00:00.000Z',
  maxClicks: 3,
  passwordHash: '$argon2id$…',
  title: 'Spring',
  note: 'For May',
  tags: ['sale'],
  updatedAt: '2026-05-20T12:00:00.000Z',
  liveSince: '2026-05-20T12:00:00.000Z',
  original: null,
};
const minute = { time: at(60) };
const later = at(60).toISOString();
const state = (change: Partial<Link> = {}, restraints: Partial<Restraints> = {}) =>
  linkState({ ...link, ...change }, { ...noRestraints, ...restraints });

describe('schemas: link’s state', () => {
  it('is what LinkCreated said', () => {
    given(made).then(state());
  });

  it('belongs to the account default where none is told, and has no texts', () => {
    given(created('plain')).then(
      state({
        ...{ code: 'plain', url: 'https://example.com/plain', account: 'default' },
        ...{ expiresAt: null, maxClicks: null, passwordHash: null },
        ...{ title: null, note: null, tags: [] },
      }),
    );
  });

  it('is not changed by a second LinkCreated', () => {
    const again = created('spring', { url: 'https://example.net/' }, { sequence: 2 });
    given(made).when(again).thenNothingChanges();
    given(made, expired('spring', 2)).when(again).thenNothingChanges();
  });

  it('is none for what was never made', () => {
    const events = [
      ...[expired('spring', 1), blocked('spring', 1), unblocked('spring', 1)],
      ...[edited('spring', 1, { maxClicks: 1 }), described('spring', 1, { title: 'x' })],
      ...[disabled('spring', 1), enabled('spring', 1), deleted('spring', 1)],
    ];
    for (const event of events) given().when(event).then(initialState);
  });

  it('is expired for the first reason that it expired for', () => {
    given(made)
      .when(expired('spring', 2, 'clicks', minute))
      .then(state({ updatedAt: later }, { expired: 'clicks' }));
    given(made, expired('spring', 2, 'clicks'), expired('spring', 3)).then(
      state({}, { expired: 'clicks' }),
    );
  });

  it('is blocked until it is unblocked', () => {
    given(made)
      .when(blocked('spring', 2))
      .then(state({}, { blocked: true }));
    given(made, blocked('spring', 2)).when(unblocked('spring', 3)).then(state());
  });

  it('keeps what a block, a pause or a deletion hides', () => {
    given(
      ...[made, expired('spring', 2, 'clicks'), disabled('spring', 3), blocked('spring', 4)],
      deleted('spring', 5),
    ).then(state({}, { expired: 'clicks', disabled: true, blocked: true, deleted: true }));
    given(made, blocked('spring', 2), disabled('spring', 3))
      .when(unblocked('spring', 4))
      .then(state({}, { disabled: true }));
  });

  it('is live anew when it is enabled', () => {
    given(made, disabled('spring', 2))
      .when(enabled('spring', 3, minute))
      .then(state({ updatedAt: later, liveSince: later }));
  });

  it('is live anew with a new destination, and remembers the first one', () => {
    const url = 'https://example.net/';
    const edit = edited('spring', 2, { url }, minute);
    const moved = { url, updatedAt: later, liveSince: later };
    given(made)
      .when(edit)
      .then(state({ ...moved, original: { url: link.url } }));
    given(made, edit)
      .when(edited('spring', 3, { url: 'https://example.org/' }, minute))
      .then(state({ ...moved, url: 'https://example.org/', original: { url: link.url } }));
  });

  it('has another password, or none, and remembers the first one', () => {
    const original = { passwordHash: '$argon2id$…' };
    const set = edited('spring', 2, { password: 'set', passwordHash: 'new' }, minute);
    given(made)
      .when(set)
      .then(state({ passwordHash: 'new', updatedAt: later, original }));
    given(made, set)
      .when(edited('spring', 3, { password: 'removed' }, minute))
      .then(state({ passwordHash: null, updatedAt: later, original }));
  });

  it('has another end or limit, by which it comes back', () => {
    given(made)
      .when(edited('spring', 2, { expiresAt: null, maxClicks: 5 }, minute))
      .then(state({ expiresAt: null, maxClicks: 5, updatedAt: later }));
    given(made, expired('spring', 2, 'clicks'))
      .when(edited('spring', 3, { maxClicks: 5 }, minute))
      .then(state({ maxClicks: 5, updatedAt: later, liveSince: later }));
    given(made, expired('spring', 2))
      .when(edited('spring', 3, { password: 'removed' }))
      .then(
        state(
          { passwordHash: null, original: { passwordHash: '$argon2id$…' } },
          { expired: 'time' },
        ),
      );
  });

  it('has another title, note or tags; what is not named stays', () => {
    given(made)
      .when(described('spring', 2, { title: null, tags: ['a', 'b'] }, minute))
      .then(state({ title: null, tags: ['a', 'b'], updatedAt: later }));
    given(made)
      .when(described('spring', 2, { note: 'For June' }, { time: noon }))
      .then(state({ note: 'For June' }));
  });
});
