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
  imported,
  noon,
  restored,
  unblocked,
  visited,
} from '../testing/events.js';
import { evolveLedgerLink, initialState, reuseKeyOf, type LedgerLink } from './ledger-link.js';

const given = foldSpecification({ initialState, evolve: evolveLedgerLink });

const creation = created(
  'spring',
  { expiresAt: at(60).toISOString(), maxClicks: 3, keyId: 'key-7' },
  { account: 'acme' },
);
const otherUrl = 'https://example.net/';
const moved = { reuseKey: reuseKeyOf('acme', otherUrl) };
const taken: LedgerLink = {
  status: 'taken',
  subject: 'spring',
  keyId: 'key-7',
  account: 'acme',
  createdAt: noon,
  reuseKey: reuseKeyOf('acme', 'https://example.com/spring'),
  deleted: false,
  blocked: false,
  disabled: false,
  expired: null,
  cleared: false,
  startsAt: null,
  expiresAt: at(60),
  maxClicks: 3,
  clicks: 0,
  visitSequence: 0,
  edited: null,
  sequence: 1,
  lastEventAt: noon,
};

describe('schemas: link in the ledger', () => {
  it('is taken by LinkCreated', () => {
    given(creation).then(taken);
    given(created('spring', { custom: true }, { account: 'acme' })).then({
      ...{ ...taken, reuseKey: null, keyId: 'key-1' },
      ...{ expiresAt: null, maxClicks: null },
    });
  });

  it('has the creation time and the clicks of LinkImported', () => {
    const createdAt = '2019-03-01T12:00:00.000Z';
    const balance = imported(
      'spring',
      { createdAt, clicks: 1_000, visits: 204, maxClicks: 2_000 },
      { account: 'acme' },
    );
    const counted = {
      ...{ ...taken, reuseKey: null, keyId: 'key-1', expiresAt: null },
      ...{ createdAt: new Date(createdAt), maxClicks: 2_000, clicks: 1_204 },
    };
    given(balance).then(counted);
    given(balance, visited('spring', 1_205, { sequence: 1 })).then({
      ...counted,
      ...{ clicks: 1_205, visitSequence: 1 },
    });
  });

  it('counts clicks by their number, without changing the sequence of link events', () => {
    given(creation, visited('spring', 1, { time: at(1) }))
      .when(visited('spring', 2, { time: at(2) }))
      .thenChanges({ clicks: 2, visitSequence: 2, sequence: 1 });
    given(creation, visited('spring', 1, { time: at(1) }))
      .when(visited('spring', null, { time: at(2) }))
      .thenChanges({ sequence: 1 });
  });

  it('stores expiry and block independently', () => {
    given(creation, blocked('spring', 2))
      .when(expired('spring', 3, 'clicks', { time: at(2) }))
      .then({ ...taken, blocked: true, expired: 'clicks', sequence: 3, lastEventAt: at(2) });
    given(creation, blocked('spring', 2), expired('spring', 3, 'clicks'))
      .when(unblocked('spring', 4, { time: at(3) }))
      .thenChanges({ blocked: false, cleared: true });
  });

  it('stays cleared after an unblock, even if it is blocked again, until it has a new destination', () => {
    const cleared = [creation, blocked('spring', 2), unblocked('spring', 3)];
    given(...cleared)
      .when(blocked('spring', 4, { time: at(4) }))
      .thenChanges({ blocked: true, cleared: true });
    given(...cleared)
      .when(edited('spring', 4, { url: otherUrl }))
      .thenChanges({ ...moved, edited: { url: otherUrl }, cleared: false });
  });

  it('has the end, the limit, the destination and the password of its last edit', () => {
    const passwordSet = edited('spring', 2, { password: 'set', passwordHash: 'hash' });
    for (const [history, data, change] of [
      [[creation], { expiresAt: null, maxClicks: 9 }, { expiresAt: null, maxClicks: 9 }],
      [[creation], { url: otherUrl }, { ...moved, edited: { url: otherUrl } }],
      [
        [creation, passwordSet],
        { url: otherUrl },
        { ...moved, edited: { passwordHash: 'hash', url: otherUrl } },
      ],
      [[creation, passwordSet], { password: 'removed' }, { edited: { passwordHash: null } }],
    ] as const) {
      given(...history)
        .when(edited('spring', 3, data, { time: at(1) }))
        .thenChanges(change);
    }
  });

  it('can expire again only after a new end or limit', () => {
    const over = given(creation, expired('spring', 2, 'clicks'));
    for (const change of [{ expiresAt: null }, { maxClicks: 9 }]) {
      over.when(edited('spring', 3, change)).thenChanges({ ...change, expired: null });
    }
    over
      .when(edited('spring', 3, { password: 'removed' }))
      .thenChanges({ edited: { passwordHash: null }, expired: 'clicks' });
  });

  it('is disabled, enabled, described, deleted and restored', () => {
    given(creation).when(disabled('spring', 2)).thenChanges({ disabled: true });
    given(creation, disabled('spring', 2))
      .when(enabled('spring', 3))
      .thenChanges({ disabled: false });
    given(creation)
      .when(described('spring', 2, { title: 'Spring' }))
      .thenChanges({});
    given(creation).when(deleted('spring', 2)).thenChanges({ deleted: true });
    given(creation, deleted('spring', 2))
      .when(restored('spring', 3))
      .thenChanges({ deleted: false });
  });

  it('is not changed by a second LinkCreated', () => {
    given(creation, blocked('spring', 2))
      .when(created('spring', { keyId: 'key-8' }, { sequence: 3 }))
      .thenNothingChanges();
  });

  it('keeps the first reason of an expiry', () => {
    given(creation, expired('spring', 2, 'clicks'))
      .when(expired('spring', 3, 'time', { time: at(1) }))
      .thenChanges({ expired: 'clicks' });
  });

  it('ignores events before LinkCreated', () => {
    const early = [
      ...[visited('a', 1), expired('a', 1), blocked('a', 1), unblocked('a', 1)],
      ...[edited('a', 1, {}), described('a', 1, {}), disabled('a', 1), enabled('a', 1)],
      ...[deleted('a', 1), restored('a', 1)],
    ];
    for (const event of early) given().when(event).thenNothingChanges();
  });
});
