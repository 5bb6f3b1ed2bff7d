import { expect } from 'chai';
import { fixture } from '../../ops/test/support/fixture.js';
import { databaseFixture } from '../../ops/test/support/fixtures.js';
import { history } from '../../projectors/history/projection.js';
import { feed } from '../../projectors/testing/harness.js';
import { emptyTables } from '../../projectors/testing/tables.js';
import {
  at,
  blocked,
  created,
  domainChanged,
  domainClaimed,
  domainReleased,
  domainVerified,
  imported,
  keyChanged,
  keyCreated,
  keyHash,
  keyRotated,
  maintenanceSwitched,
  personAdded,
  personChanged,
  unblocked,
  utmTemplateDeleted,
  utmTemplateSaved,
  webhookChanged,
  webhookCreated,
  webhookDisabled,
} from '../../schemas/testing/events.js';
import { isListed, listChanges, readChangesCursor } from './route.js';

type Filter = Parameters<typeof listChanges>[1];

const person = `usr_${'a'.repeat(20)}`;

describe('command API: changes of accounts and the platform', () => {
  const database = databaseFixture('changes');
  const given = fixture(() => feed(database.pool, history));

  beforeEach(() => emptyTables(database.pool, 'projection_history'));

  const list = (filter: Filter, limit = 100, after: string | null = null, most?: number) => {
    const cursor = after === null ? null : readChangesCursor(after);
    return listChanges(database.pool, filter, cursor, limit, most);
  };

  /** The subjects of all pages, page by page. */
  const pagesOf = async (filter: Filter, limit: number, most?: number) => {
    const pages: (readonly string[])[] = [];
    let next: string | null = null;
    do {
      const page = await list(filter, limit, next, most);
      pages.push(page.events.map(({ subject }) => subject));
      next = page.next;
    } while (next !== null);
    return pages;
  };

  /** The values before the newest change. */
  const earlier = async (filter: Filter = {}) => {
    const { events, earlier } = await list(filter, 1);
    return earlier[events[0]?.id ?? ''];
  };

  it('are filtered by account, actor, type, and all combinations', async () => {
    const other = { account: 'other' };
    const events = [
      keyCreated('a1', {}, { actor: 'maria' }),
      keyCreated('b1', {}, { ...other, actor: 'maria' }),
      webhookCreated('a2', {}, { actor: 'maria' }),
      webhookCreated('b2', {}, { ...other, actor: `operator:${person}` }),
      keyCreated('a3', {}, { actor: person }),
      webhookCreated('b3', {}, { ...other, actor: 'mar' }),
      keyCreated('b4', {}, other),
      webhookCreated('a4', {}, { actor: '%' }),
    ].map((event, index) => ({ ...event, time: at(index).toISOString() }));
    const switched = maintenanceSwitched(1, true, { time: at(9), actor: 'maria' });
    await given.events(...events, switched);
    const stored = [...events, switched].reverse();
    for (const account of [undefined, 'acme', 'other', 'none']) {
      for (const actor of [undefined, 'maria', person, '%', 'none']) {
        for (const type of [
          undefined,
          'ApiKeyCreated',
          'WebhookCreated',
          'DomainClaimed',
        ] as const) {
          const expected = stored.filter(
            (event) =>
              (account === undefined || event.account === account) &&
              (actor === undefined || [actor, `operator:${actor}`].includes(event.actor ?? '')) &&
              (type === undefined || event.type.startsWith(`linklog.${type}.`)),
          );
          for (const [limit, most] of [
            [100, undefined],
            [1, undefined],
            [2, 2],
            [3, 1],
          ] as const) {
            const pages = await pagesOf({ account, actor, type }, limit, most);
            const subjects = expected.map(({ subject }) => subject);
            expect(pages.flat(), JSON.stringify([account, actor, type, limit])).to.deep.equal(
              subjects,
            );
          }
        }
      }
    }
  });

  it('have those of links by operators, except imports, for all accounts and for one', async () => {
    const key = { actor: '0190d2f0-0000-7000-8000-000000000001' };
    const other = { account: 'other' };
    const by = (actor: string, second: number) => ({
      ...{ actor, time: at(second), account: 'acme' },
    });
    await given.events(
      created('a', {}, key),
      created('go.example/b', {}, { ...other, ...key }),
      created('c', {}, by('maria', 1)),
      imported('d', {}, by('maria', 2)),
      blocked('a', 2, by('web-safety', 3)),
      unblocked('a', 3, by(`operator:${person}`, 4)),
      blocked('go.example/b', 2, { ...by('maria', 5), ...other }),
      created('e', {}, by(person, 6)),
      created('f', {}),
      keyCreated('key', {}, by('maria', 7)),
    );
    expect(await pagesOf({}, 100)).to.deep.equal([['key', 'go.example/b', 'a', 'c']]);
    expect(await pagesOf({ actor: 'maria' }, 2)).to.deep.equal([['key', 'go.example/b'], ['c']]);
    expect(await pagesOf({ account: 'other' }, 100)).to.deep.equal([['go.example/b']]);
    expect(await pagesOf({ account: 'acme' }, 1)).to.deep.equal([['key'], ['a'], ['c']]);
    expect(await pagesOf({ actor: person, type: 'LinkUnblocked' }, 100)).to.deep.equal([['a']]);
    // Other events of links do not count.
    expect(await pagesOf({}, 4, 4)).to.deep.equal([['key', 'go.example/b', 'a', 'c'], []]);
  });

  it('are read from the indexes of their condition', async () => {
    for (const [filter, index] of [
      ['', 'events_time_subject_sequence_idx'],
      [`AND account = 'acme'`, 'events_account_time_subject_sequence_idx'],
    ]) {
      const results = await database.pool.query(
        `SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; SET LOCAL enable_bitmapscan = off;
         EXPLAIN SELECT FROM projection_history.events WHERE ${isListed} ${filter}
         ORDER BY time DESC, subject DESC, sequence DESC LIMIT 1`,
      );
      expect(JSON.stringify(results)).to.include(index);
    }
  });

  it('have pages that examine a bounded number of events', async () => {
    const events = Array.from({ length: 10 }, (_, index) =>
      keyCreated(`key-${index}`, {}, { time: at(index), actor: index === 2 ? 'rare' : 'maria' }),
    );
    await given.events(...events);
    const rare = [[], ['key-2'], []];
    expect(await pagesOf({ actor: 'rare' }, 5, 4)).to.deep.equal(rare);
    expect(await pagesOf({ actor: 'rare', account: 'acme' }, 5, 4)).to.deep.equal(rare);
    expect(await pagesOf({ account: 'none' }, 5, 4)).to.deep.equal([[]]);
  });

  it('have the values before a change of a key, without secrets', async () => {
    await given.events(
      keyCreated('key', { name: 'A', plan: 'HOBBY' }),
      keyChanged('key', 2, { name: 'B', plan: 'HOBBY' }),
    );
    const created = { name: 'A', plan: 'HOBBY', scopes: null, expiresAt: null, status: 'active' };
    expect(await earlier()).to.deep.include(created);
    await given.events(keyChanged('key', 3, { name: 'B', status: 'inactive' }, { time: at(3) }));
    expect(await earlier()).to.deep.include({ name: 'B', status: 'active' });
    const hash = keyHash;
    const rotations = Array.from({ length: 20 }, (_, index) =>
      keyRotated('key', 4 + index, { hash, earlierEndAt: at(9).toISOString() }),
    );
    await given.events(...rotations, keyChanged('key', 24, { name: 'C' }, { time: at(30) }));
    expect(await earlier()).to.deep.include({ name: 'B', status: 'inactive' });
    const text = JSON.stringify(await list({}));
    for (const secret of [keyHash, 'hash"']) expect(text).to.not.include(secret);
  });

  it('have the values before a change of a webhook that Linklog disabled', async () => {
    await given.events(
      webhookCreated('hook'),
      webhookDisabled('hook', 2, 'gone'),
      webhookChanged('hook', 3, { description: 'On again' }, { time: at(1) }),
    );
    expect(await earlier()).to.deep.include({ status: 'disabled', description: null });
    expect(JSON.stringify(await list({}))).to.not.include('whsec_');
  });

  it('have the values of the same account only, since the subject started anew', async () => {
    const url = 'https://a.example/';
    const redirects = { rootRedirect: url, notFoundRedirect: null, expiredRedirect: null };
    const other = { account: 'other' };
    await given.events(
      domainVerified('d.example', 1),
      domainChanged('d.example', 2, redirects),
      domainReleased('d.example', 3),
      domainClaimed('d.example', 4, 'token', other),
      domainVerified('d.example', 5, other),
      domainChanged('d.example', 6, redirects, { ...other, time: at(1) }),
    );
    expect(await earlier()).to.have.all.keys('by');
    await given.events(
      domainClaimed('d.example', 7, 'token'),
      domainVerified('d.example', 8),
      domainChanged('d.example', 9, redirects, { time: at(2) }),
    );
    expect(await earlier()).to.have.all.keys('by');
    expect(await earlier(other)).to.have.all.keys('by');
    const template = 'acme:Newsletter';
    await given.events(
      utmTemplateSaved(template, 1, {}),
      utmTemplateSaved(template, 2, { medium: 'post' }, { time: at(3) }),
    );
    expect(await earlier()).to.deep.include({ medium: 'email', term: null });
    await given.events(
      utmTemplateDeleted(template, 3),
      utmTemplateSaved(template, 4, {}, { time: at(4) }),
    );
    expect(await earlier()).to.deep.equal({});
    await given.events(
      personAdded(person, { role: 'editor' }, other),
      personAdded(person, { role: 'viewer' }, { sequence: 2 }),
      personChanged(person, 3, { name: 'Vera' }),
      personChanged(person, 4, { role: 'admin' }, { time: at(5) }),
    );
    expect(await earlier()).to.deep.include({ role: 'viewer' });
    expect(JSON.stringify(await list({}))).to.not.include('Vera');
  });

  it('leave events and earlier values beyond 500 kB to later pages', async () => {
    const long = (index: number) => `https://a.example/${'x'.repeat(8_000)}${index}`;
    const events = Array.from({ length: 99 }, (_, index) =>
      webhookChanged('hook', index + 2, { url: long(index) }, { time: at(index) }),
    );
    await given.events(webhookCreated('hook'), ...events);
    const page = await list({});
    expect(JSON.stringify(page.events).length).to.be.within(400_000, 550_000);
    expect((await pagesOf({}, 100)).map(({ length }) => length)).to.deep.equal([61, 39]);
    const bytes = JSON.stringify(page.earlier).length;
    expect(bytes).to.be.within(100_000, 500_000);
    expect(page.earlier).to.have.property(page.events[0]?.id ?? '');
  });
});
