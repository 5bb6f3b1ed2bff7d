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
  restored,
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

  const query = async <Row extends object>(text: string): Promise<readonly Row[]> =>
    (await database.pool.query<Row>(text)).rows;
  const owner = { account: 'acme' };
  const describeLink = (code: string, sequence: number, ...tags: readonly string[]) =>
    described(code, sequence, { title: null, note: null, tags: [...tags] }, owner);
  const rows = () =>
    query<RedirectRow>(
      `SELECT ${redirectColumns.join()} FROM projection_redirects.links ORDER BY subject`,
    );

  it('writes a row for a created link with everything that a redirect needs', async () => {
    const [maxClicks, passwordHash] = [1_000_000_000, '$argon2id$…'];
    const options = { expiresAt: at(3_600).toISOString(), maxClicks, passwordHash };
    await given.events(created('abc', options, { account: 'acme' }));
    expect(await rows()).to.deep.equal([
      {
        ...{ subject: 'abc', status: 'active', url: 'https://example.com/abc', account: 'acme' },
        ...{ created_at: noon, starts_at: null, expires_at: at(3_600), live_since: null },
        ...{ max_clicks: maxClicks, password_hash: passwordHash, sequence: 1, updated_at: null },
        ...{ expired: null, blocked: null, disabled: null, custom: null, original: null },
        ...{ title: null, note: null, tags: null, options: null, codes: null },
      },
    ]);
  });

  it('writes no row for a blocked subject that was never created', async () => {
    await given.events(blocked('abc', 1));
    expect(await rows()).to.deep.equal([]);
  });

  it('writes the row of the folded state', async () => {
    const history: LinkEvent[] = [
      created('abc', {
        expiresAt: at(60).toISOString(),
        custom: true,
        title: 'Spring',
        tags: ['x'],
      }),
      blocked('abc', 2),
      expired('abc', 3),
      unblocked('abc', 4),
      edited('abc', 5, { url: 'https://example.net/', expiresAt: null, maxClicks: 7 }),
      described('abc', 6, { title: 'Käse', note: 'a "note"', tags: ['a b', 'ü'] }),
      disabled('abc', 7),
      enabled('abc', 8, { time: at(8) }),
      edited('abc', 9, { password: 'set', passwordHash: '$argon2id$…' }),
      deleted('abc', 10, { time: at(10) }),
      restored('abc', 11, { time: at(11) }),
    ];
    // A link with the same columns as a new one again.
    const asNew = [created('def'), blocked('def', 2), unblocked('def', 3)];
    const expected: unknown[] = [];
    for (const [position, events] of [history, asNew].entries()) {
      for (const [index, event] of events.entries()) {
        await given.events(event);
        const state = events.slice(0, index + 1).reduce(evolveLink, initialState);
        expected[position] = rowOfState(state, index + 1);
        expect(await rows()).to.deep.equal(expected);
      }
    }
  });

  it('writes a row for each folded tag of a link', async () => {
    const tags = () =>
      query(
        'SELECT account, tag, created_at, subject FROM projection_redirects.link_tags ORDER BY 2, 4',
      );
    const row = { ...owner, created_at: noon };
    await given.events(created('abc', { tags: ['x', 'y'] }, owner), created('def', {}, owner));
    await given.events(
      ...[describeLink('abc', 2, 'z'), describeLink('abc', 3, 'y', 'ẞ', 'X', 'x', 'Ä', 'A\u0308')],
      describeLink('def', 2, 'y'),
    );
    expect(await tags()).to.deep.equal([
      { ...row, tag: 'ss', subject: 'abc' },
      { ...row, tag: 'x', subject: 'abc' },
      { ...row, tag: 'y', subject: 'abc' },
      { ...row, tag: 'y', subject: 'def' },
      { ...row, tag: 'ä', subject: 'abc' },
    ]);
    await given.events(describeLink('abc', 4), deleted('def', 3, owner));
    expect(await tags()).to.deep.equal([{ ...row, tag: 'y', subject: 'def' }]);
  });

  it('counts the links of each folded tag, without deleted links', async () => {
    const counts = async () =>
      (await query<{ row: string }>(`SELECT t::text AS row FROM projection_redirects.tags t`))
        .map(({ row }) => row)
        .sort();
    await given.events(
      ...[created('abc', { tags: ['x', 'y'] }, owner), created('def', { tags: ['Y'] }, owner)],
      ...[created('ghi', { tags: ['x'] }), created('gone', { tags: ['x', 'old'] }, owner)],
      deleted('gone', 2, owner),
    );
    const other = '(default,x,1)';
    expect(await counts()).to.deep.equal(['(acme,x,1)', '(acme,y,2)', other]);
    await given.events(
      ...[describeLink('abc', 2, 'X', 'z'), describeLink('def', 2), describeLink('def', 3, 'x')],
    );

    expect(await counts()).to.deep.equal(['(acme,x,2)', '(acme,z,1)', other]);
    await given.events(deleted('abc', 3, owner));
    expect(await counts()).to.deep.equal(['(acme,x,1)', other]);
    await given.events(restored('abc', 4, owner));
    expect(await counts()).to.deep.equal(['(acme,x,2)', '(acme,z,1)', other]);
  });

  it('stores the folded texts of a link after its last event', async () => {
    const folded = async () =>
      (
        await query<{ folded: string | null }>(
          'SELECT folded FROM projection_redirects.links ORDER BY subject',
        )
      ).map((row) => row.folded);
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
});
