import { expect } from 'chai';
import { evolveLink, initialState } from '../../schemas/folds/link.js';
import type { LinkEvent } from '../../schemas/events/catalogue.js';
import {
  redirectColumns,
  rowOfState,
  type RedirectRow,
} from '../../schemas/read-models/redirects.js';
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
} from '../../schemas/testing/events.js';
import { feed } from '../testing/harness.js';
import { emptyTables } from '../testing/tables.js';
import { redirects } from './projection.js';
import { fixture } from '../../ops/test/support/fixture.js';
import { databaseFixture } from '../../ops/test/support/fixtures.js';

describe('projectors: projection redirects', () => {
  const database = databaseFixture('redirects');
  const given = fixture(() => feed(database.pool, redirects));

  beforeEach(() => emptyTables(database.pool, 'projection_redirects'));

  const rows = async (): Promise<readonly RedirectRow[]> =>
    (
      await database.pool.query<RedirectRow>(
        `SELECT ${redirectColumns.join()} FROM projection_redirects.links ORDER BY subject`,
      )
    ).rows;

  const folded = async (): Promise<readonly (string | null)[]> =>
    (
      await database.pool.query<{ folded: string | null }>(
        'SELECT folded FROM projection_redirects.links ORDER BY subject',
      )
    ).rows.map((row) => row.folded);

  it('writes a row for a created link with everything that a redirect needs', async () => {
    const link = created(
      'abc',
      {
        expiresAt: at(3_600).toISOString(),
        maxClicks: 1_000_000_000,
        passwordHash: '$argon2id$…',
      },
      { account: 'acme' },
    );
    await given.events(link);
    expect(await rows()).to.deep.equal([
      {
        subject: 'abc',
        starts_at: null,
        status: 'active',
        expired: null,
        url: 'https://example.com/abc',
        account: 'acme',
        created_at: noon,
        expires_at: at(3_600),
        max_clicks: 1_000_000_000,
        password_hash: '$argon2id$…',
        sequence: 1,
        blocked: null,
        disabled: null,
        custom: null,
        title: null,
        note: null,
        tags: null,
        updated_at: null,
        live_since: null,
        original: null,
        rules: null,
        forward_query: null,
      },
    ]);
  });

  it('ignores a second LinkCreated of a subject', async () => {
    await given.events(
      created('abc'),
      created('abc', { url: 'https://example.net/' }, { sequence: 2 }),
    );
    expect((await rows())[0]).to.include({ url: 'https://example.com/abc', sequence: 2 });
  });

  it('writes no row for a blocked subject that was never created', async () => {
    await given.events(blocked('abc', 1));
    expect(await rows()).to.deep.equal([]);
  });

  it('distinguishes a block from an expiry, and keeps an expiry under a block', async () => {
    await given.events(created('expired'), created('blocked'), created('both'), created('again'));
    await given.events(expired('expired', 2, 'clicks'), blocked('blocked', 2), blocked('both', 2));
    await given.events(expired('both', 3), blocked('again', 2), unblocked('again', 3));
    const states = (await rows()).map((row) => [
      row.subject,
      row.status,
      row.expired,
      row.sequence,
    ]);
    expect(states).to.deep.equal([
      ['again', 'active', null, 3],
      ['blocked', 'blocked', null, 2],
      ['both', 'blocked', 'time', 3],
      ['expired', 'expired', 'clicks', 2],
    ]);
  });

  it('stores title, note and tags of a link', async () => {
    await given.events(
      created('abc', { custom: true, title: 'Spring', note: 'Sale', tags: ['x', 'y'] }),
    );
    expect((await rows())[0]).to.deep.include({
      custom: true,
      title: 'Spring',
      note: 'Sale',
      tags: ['x', 'y'],
    });
  });

  it('writes a row for each tag of a link', async () => {
    const tags = async (): Promise<readonly unknown[]> => {
      const { rows } = await database.pool.query<Record<string, unknown>>(
        'SELECT account, tag, created_at, subject FROM projection_redirects.link_tags ORDER BY tag, subject',
      );
      return rows;
    };
    const owner = { account: 'acme' };
    const row = { account: 'acme', created_at: noon };
    const texts = { title: null, note: null };
    await given.events(created('abc', { tags: ['x', 'y'] }, owner), created('def', {}, owner));
    await given.events(
      described('abc', 2, { ...texts, tags: ['z'] }, owner),
      described('abc', 3, { ...texts, tags: ['y', 'w'] }, owner),
      described('def', 2, { ...texts, tags: ['y'] }, owner),
    );
    expect(await tags()).to.deep.equal([
      { ...row, tag: 'w', subject: 'abc' },
      { ...row, tag: 'y', subject: 'abc' },
      { ...row, tag: 'y', subject: 'def' },
    ]);
    await given.events(
      described('abc', 4, { ...texts, tags: [] }, owner),
      deleted('def', 3, owner),
    );
    expect(await tags()).to.deep.equal([{ ...row, tag: 'y', subject: 'def' }]);
  });

  it('stores the folded texts of a link after its last event', async () => {
    await given.events(
      created('Abc', { url: 'http://BÜCHER.test/', title: 'Große', tags: ['İ'] }),
      created('def'),
    );
    expect(await folded()).to.deep.equal([
      'abc\nhttp://bücher.test/\ngrosse\ni\u0307\n://xn--bcher-kva.test',
      'def\nhttps://example.com/def',
    ]);
    await given.events(
      described('def', 2, { title: null, note: 'Two\nlines', tags: ['X', 'Y'] }),
      edited('def', 3, { url: 'https://example.net/É' }),
    );
    expect((await folded())[1]).to.equal('def\nhttps://example.net/é\ntwo\nlines\nx\ny');
  });

  it('writes a row for each folded tag of a link', async () => {
    const tags = async (): Promise<readonly string[]> =>
      (
        await database.pool.query<{ tag: string }>(
          'SELECT tag FROM projection_redirects.link_tags ORDER BY tag',
        )
      ).rows.map(({ tag }) => tag);
    const texts = { title: null, note: null };
    await given.events(created('abc', { tags: ['X', 'x', 'Ä', 'A\u0308'] }));
    expect(await tags()).to.deep.equal(['x', 'ä']);
    await given.events(described('abc', 2, { ...texts, tags: ['X'] }));
    expect(await tags()).to.deep.equal(['x']);
    await given.events(described('abc', 3, { ...texts, tags: ['ẞ'] }));
    expect(await tags()).to.deep.equal(['ss']);
  });

  it('writes the row of the folded state', async () => {
    const history: LinkEvent[] = [
      created('abc', { expiresAt: at(60).toISOString() }),
      blocked('abc', 2),
      expired('abc', 3),
      unblocked('abc', 4),
      edited('abc', 5, { url: 'https://example.net/', expiresAt: null, maxClicks: 7 }),
      described('abc', 6, { title: 'Käse', note: 'a "note"', tags: ['a b', 'ü'] }),
      disabled('abc', 7),
      enabled('abc', 8, { time: at(8) }),
      edited('abc', 9, { password: 'set', passwordHash: '$argon2id$…' }),
      deleted('abc', 10, { time: at(10) }),
    ];
    for (const event of history) await given.events(event);
    expect((await rows())[0]).to.deep.equal(
      rowOfState(history.reduce(evolveLink, initialState), 10),
    );
  });
});
