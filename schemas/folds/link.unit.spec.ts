import { foldSpecification } from '../testing/decider-specification.js';
import {
  at,
  codeAdded,
  codeRemoved,
  created,
  deleted,
  described,
  disabled,
  edited,
  enabled,
  expired,
  imported,
  noon,
  restored,
} from '../testing/events.js';
import { noRestraints, type Restraints } from './link-status.js';
import { evolveLink, linkState, initialState, type Link } from './link.js';

const given = foldSpecification({ initialState, evolve: evolveLink });

const creation = created(
  'spring',
  {
    ...{ expiresAt: '2026-06-01T00:00:00.000Z', maxClicks: 3, passwordHash: '$argon2id$…' },
    ...{ title: 'Spring', note: 'For May', tags: ['sale'] },
  },
  { account: 'acme' },
);
const link: Link = {
  subject: 'spring',
  url: 'https://example.com/spring',
  account: 'acme',
  custom: false,
  createdAt: '2026-05-20T12:00:00.000Z',
  startsAt: null,
  expiresAt: '2026-06-01T00:00:00.000Z',
  maxClicks: 3,
  passwordHash: '$argon2id$…',
  options: {},
  title: 'Spring',
  note: 'For May',
  tags: ['sale'],
  codes: [],
  updatedAt: '2026-05-20T12:00:00.000Z',
  liveSince: '2026-05-20T12:00:00.000Z',
  original: null,
};
const passwordOnly = { passwordHash: '$argon2id$…' };
const minute = { time: at(60) };
const later = at(60).toISOString();
const state = (change: Partial<Link> = {}, restraints: Partial<Restraints> = {}) =>
  linkState({ ...link, ...change }, { ...noRestraints, ...restraints });

describe('schemas: link’s state', () => {
  it('has its further codes in the order of their addition, without removed ones', () => {
    const code = (sequence: number, name: string) =>
      codeAdded('spring', sequence, { code: name, keyId: 'key-1' }, minute);
    given(creation, code(2, 'a'), code(3, 'go.example/b'), code(4, 'c'))
      .when(codeRemoved('spring', 5, { code: 'a' }, minute))
      .then(state({ codes: ['go.example/b', 'c'], updatedAt: later }));
  });

  it('has the values of LinkCreated', () => {
    given(creation).then(state());
  });

  it('has the creation time of LinkImported at the source, and redirects since the import', () => {
    const createdAt = '2019-03-01T12:00:00.000Z';
    given(imported('old', { createdAt, clicks: 7, tags: ['archived'] })).then(
      state({
        ...{ subject: 'old', url: 'https://example.com/old', account: 'default', custom: true },
        ...{ expiresAt: null, maxClicks: null, passwordHash: null, createdAt },
        ...{ title: null, note: null, tags: ['archived'] },
      }),
    );
  });

  it('has a new liveSince when it is enabled', () => {
    given(creation, disabled('spring', 2))
      .when(enabled('spring', 3, minute))
      .then(state({ updatedAt: later, liveSince: later }));
  });

  it('is as before its deletion when it is restored, with a new liveSince', () => {
    given(creation, disabled('spring', 2), deleted('spring', 3))
      .when(restored('spring', 4, minute))
      .then(state({ updatedAt: later, liveSince: later }, { disabled: true }));
  });

  it('has a new liveSince with a new destination, and keeps the original one', () => {
    const url = 'https://example.net/';
    const edit = edited('spring', 2, { url }, minute);
    const moved = { url, updatedAt: later, liveSince: later };
    given(creation)
      .when(edit)
      .then(state({ ...moved, original: { url: link.url } }));
    given(creation, edit)
      .when(edited('spring', 3, { url: 'https://example.org/' }, minute))
      .then(state({ ...moved, url: 'https://example.org/', original: { url: link.url } }));
  });

  it('keeps the original password', () => {
    const set = edited('spring', 2, { password: 'set', passwordHash: 'new' }, minute);
    given(creation, set)
      .when(edited('spring', 3, { password: 'removed' }, minute))
      .then(state({ passwordHash: null, updatedAt: later, original: passwordOnly }));
  });

  it('has a new liveSince with a new end or limit, only if it was expired', () => {
    const edit = edited('spring', 3, { maxClicks: 5 }, minute);
    given(creation)
      .when(edit)
      .then(state({ maxClicks: 5, updatedAt: later }));
    given(creation, expired('spring', 2, 'clicks'))
      .when(edit)
      .then(state({ maxClicks: 5, updatedAt: later, liveSince: later }));
    given(creation, expired('spring', 2))
      .when(edited('spring', 3, { password: 'removed' }))
      .then(state({ passwordHash: null, original: passwordOnly }, { expired: 'time' }));
  });

  it('changes title, note and tags; absent fields stay', () => {
    given(creation)
      .when(described('spring', 2, { title: null, tags: ['a', 'b'] }, minute))
      .then(state({ title: null, tags: ['a', 'b'], updatedAt: later }));
    given(creation)
      .when(described('spring', 2, { note: 'For June' }, { time: noon }))
      .then(state({ note: 'For June' }));
  });
});
