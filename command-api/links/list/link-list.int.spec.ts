import { expect } from 'chai';
import fc from 'fast-check';
import { recordHistory } from '../../../ops/test/support/ledger-links.js';
import { execute, transaction } from '../../../ops/platform/postgres/pool.js';
import { redirects } from '../../../projectors/links/projection.js';
import { stats } from '../../../projectors/statistics/projection.js';
import { feed } from '../../../projectors/testing/harness.js';
import { emptyTables } from '../../../projectors/testing/tables.js';
import type { LedgerLinkEvent } from '../../../schemas/folds/ledger-link.js';
import type { LinkEvent } from '../../../schemas/events/catalogue.js';
import { listLinksQuery } from '../../../schemas/http/list-links.js';
import {
  at,
  blocked,
  created,
  deleted,
  described,
  disabled,
  expired,
  spooledVisit,
} from '../../../schemas/testing/events.js';
import { readCursor, writeCursor, type AccountQuery, type ListQuery } from './link-query.js';
import { countLinks, listAll, listLinks, startSnapshot, type Effort } from './link-list.js';
import { fixture } from '../../../ops/test/support/fixture.js';
import { databaseFixture, ledgerFixture } from '../../../ops/test/support/fixtures.js';

/** A link for the naive list. */
interface ExpectedLink
  extends
    Readonly<Record<'subject' | 'account' | 'url' | 'host', string>>,
    Readonly<Record<'title' | 'note', string | null>>,
    Readonly<Record<'seconds' | 'clicks', number>> {
  readonly tags: readonly string[];
  readonly status: 'deleted' | 'blocked' | 'disabled' | 'expired' | 'active';
}

const now = at(10_000);
const tags = ['x', 'y', 'Y', 'a b'];
/** Destinations, with their host by the URL Standard. */
const destinations = [
  ['https://example.com/%/_\\', 'example.com'],
  ['HTTPS://EXAMPLE.com:443?Ä', 'example.com'],
  ['http://b\u00fccher.example/', 'xn--bcher-kva.example'],
  ['http://0x7f.1/a', '127.0.0.1'],
  ['http://127.0.0.1:8080#b', '127.0.0.1'],
  ['https://not.example.com/?://example.com/', 'not.example.com'],
  ['http://[2001:DB8::0:1]/', '[2001:db8::1]'],
] as const;

/** Texts of letters with two cases, and of wildcards of LIKE. */
const someText = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...Array.from('aAäÄωΩσΣжЖ%_\\ ')), minLength, maxLength });

/** PostgreSQL sorts `ｂ` before the emoji, UTF-16 after it. */
const someCode = fc.stringMatching(/^[aAbBｂ🎉]{3,5}$/u);

const someLinks: fc.Arbitrary<readonly ExpectedLink[]> = fc
  .uniqueArray(someCode, { minLength: 1, maxLength: 60, size: 'max' })
  .chain((subjects) =>
    fc.tuple(
      ...subjects.map((subject) =>
        fc
          .record({
            account: fc.constantFrom('acme', 'acme', 'acme', 'b1', 'b2', 'other'),
            // Many links have the same time.
            ...{ seconds: fc.nat(20), destination: fc.constantFrom(...destinations) },
            ...{ title: fc.option(someText(0, 6)), note: fc.option(someText(0, 6)) },
            tags: fc.subarray(tags),
            status: fc.constantFrom(
              ...(['active', 'active', 'active', 'disabled', 'blocked', 'expired'] as const),
              ...(['due', 'deleted'] as const),
            ),
            clicks: fc.constantFrom(0, 0, 1, 2, 5, 6, 7, 9),
          })
          .map(({ destination: [url, host], status, ...link }) => ({
            ...{ ...link, subject, url, host },
            isDue: status === 'due',
            status: status === 'due' ? ('expired' as const) : status,
          })),
      ),
    ),
  );

const someTerm = someText(2, 4).filter((text) => !text.includes(' '));

const someQuery = fc.record(
  {
    sort: fc.constantFrom('created', 'clicks'),
    search: fc.oneof(
      fc.tuple(someTerm, someTerm).map((terms) => terms.join(' ')),
      someTerm,
      fc.constantFrom('aBa', '://', 'EXAMPLE', '/%/', '3?Ä', 'aba EXAMPLE', 'not', 'ex ab'),
    ),
    tag: fc.subarray(tags),
    status: fc.constantFrom('deleted', 'blocked', 'disabled', 'expired', 'active'),
    destination: fc.constantFrom(
      ...['Example.COM', 'b\u00fccher.example', '127.0.0.1', '[2001:db8::1]'],
    ),
  },
  { requiredKeys: [] },
);

const small: Readonly<Record<string, string>> = { A: 'a', B: 'b', Ä: 'ä', Ω: 'ω', Σ: 'σ', Ж: 'ж' };
const lower = (text: string): string =>
  Array.from(text, (character) => small[character] ?? character.toLowerCase()).join('');

/** The whole list, in the simplest way. */
const naive = (links: readonly ExpectedLink[], query: ListQuery): readonly string[] =>
  links
    .filter(
      ({ account, subject, url, title, note, host, ...link }) =>
        (query.account === null || account === query.account) &&
        (query.status ? link.status === query.status : link.status !== 'deleted') &&
        query.tag.every((tag) => link.tags.map(lower).includes(tag)) &&
        (query.destination === undefined || host === query.destination) &&
        (query.search ?? []).every((term) =>
          [subject, url, title, note, host && `://${host}`, ...link.tags].some(
            (text) => text !== null && lower(text).includes(term),
          ),
        ),
    )
    .sort((a, b) => {
      const byClicks = query.sort === 'clicks' ? b.clicks - a.clicks : 0;
      const bySubject = Buffer.compare(Buffer.from(b.subject), Buffer.from(a.subject));
      if (query.sort === 'clicks' && (byClicks !== 0 || a.clicks > 0))
        return byClicks || -bySubject;
      if (a.account !== b.account) return a.account < b.account ? -1 : 1;
      return b.seconds - a.seconds || bySubject;
    })
    .map(({ subject }) => subject);

const historyOf = (link: ExpectedLink & { readonly isDue?: boolean }): readonly LinkEvent[] => {
  const { subject, account, seconds, status, url, title, note } = link;
  const data = {
    ...{ url, tags: [...link.tags], expiresAt: link.isDue ? at(9_000).toISOString() : null },
    ...(title !== null && { title }),
    ...(note !== null && { note }),
  };
  const then = { account, time: at(100) };
  const following: Readonly<Record<ExpectedLink['status'], readonly LinkEvent[]>> = {
    active: [],
    blocked: [disabled(subject, 2, then), blocked(subject, 3, then)],
    disabled: [disabled(subject, 2, then)],
    expired: link.isDue ? [] : [expired(subject, 2, 'time', then)],
    deleted: [blocked(subject, 2, then), deleted(subject, 3, then)],
  };
  return [created(subject, data, { account, time: at(seconds) }), ...following[status]];
};

/** The bounds of the work per page. */
const effortOf = (
  bounds: readonly [number, number, number, number, number, number, number],
  bytes = 500_000,
): Effort => {
  const [examined, tagged, steps, indexed, few, clicked, accounts] = bounds;
  return { examined, tagged, steps, indexed, few, clicked, accounts, bytes };
};

describe('command API: lists of links', () => {
  const database = databaseFixture('list');
  const node = ledgerFixture(database);
  const links = fixture(() => feed(database.pool, redirects));
  const visits = fixture(() => feed(database.pool, stats));

  const acme = { account: 'acme' };
  const tagged = (subject: string, time: Date) =>
    created(subject, { tags: ['x'] }, { ...acme, time });

  const clear = async (): Promise<void> => {
    await emptyTables(database.pool, 'projection_redirects');
    await emptyTables(database.pool, 'projection_stats');
    await database.pool.query('DELETE FROM ledger.links; DELETE FROM log.records');
  };

  beforeEach(clear);

  /** Complete histories of links, in ledger, log and projection. */
  const given = async (...events: readonly LinkEvent[]): Promise<void> => {
    await recordHistory(node, ...(events as LedgerLinkEvent[]));
    await links.events(...events);
  };

  /** Later events, not projected yet. */
  const record = (...events: readonly LinkEvent[]) =>
    transaction(node.pool, (tx) => execute(tx, node.outbox.record(events)));

  const then = async (...events: readonly LinkEvent[]): Promise<void> => {
    await record(...events);
    await links.events(...events);
  };

  const queryOf = (query: object, account = 'acme'): AccountQuery => ({
    ...listLinksQuery.parse(query),
    account,
  });

  const page = async (
    query: ListQuery,
    limit: number,
    next: string | null = null,
    effort?: Effort,
  ) => {
    const after = next === null ? null : readCursor(next, query);
    const request = { query, after, limit, now };
    const listed = await listLinks(node.pool, node.outbox, request, effort);
    const subjects = listed.links.map(({ link }) => link.link.subject);
    return { subjects, next: listed.next && writeCursor(listed.next, query) };
  };

  const pagesOf = async (query: ListQuery, limit: number, effort?: Effort) => {
    const pages: (readonly string[])[] = [];
    let next: string | null = null;
    do {
      const read = await page(query, limit, next, effort);
      expect(read.subjects).to.have.lengthOf.at.most(limit);
      pages.push(read.subjects);
      next = read.next;
    } while (next !== null);
    return pages;
  };

  const wholeList = async (query: ListQuery, limit: number, effort?: Effort) =>
    (await pagesOf(query, limit, effort)).flat();

  /** The list in portions of one snapshot, as exports read it. */
  const exported = (query: AccountQuery, size: number, effort?: Effort) =>
    transaction(node.pool, async (tx) => {
      await startSnapshot(tx);
      const subjects: string[] = [];
      for await (const portion of listAll(tx, node.outbox, { query, now }, size, effort)) {
        subjects.push(...portion.map(({ link }) => link.link.subject));
      }
      return subjects;
    });

  it('equals a naive list, page by page, for any bound of the work per page', async () => {
    const efforts = [
      ...[undefined, effortOf([3, 2, 2, 100, 2, 2, 2])],
      ...[effortOf([3, 2, 2, 3, 2, 2, 2]), effortOf([1, 1, 1, 0, 0, 1, 1])],
      ...[effortOf([9, 9, 2, 3, 9, 4, 2], 1), effortOf([9, 9, 2, 100, 2, 4, 2], 100)],
    ];
    const request = fc.tuple(
      someQuery,
      fc.integer({ min: 1, max: 8 }),
      fc.constantFrom(...efforts),
    );
    const requests = fc.array(request, { minLength: 6, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(someLinks, requests, async (known, queries) => {
        await clear();
        await given(...known.flatMap(historyOf));
        const clicks = known.flatMap((link) => Array.from({ length: link.clicks }, () => link));
        await visits.events(
          ...clicks.map(({ subject, account }, index) =>
            spooledVisit(subject, { account, sequence: index + 1 }),
          ),
        );
        for (const [values, limit, effort] of queries) {
          const query = queryOf(values);
          expect(await wholeList(query, limit, effort)).to.deep.equal(naive(known, query));
          const byTime = { ...query, sort: 'created' as const };
          expect(await exported(byTime, limit, effort)).to.deep.equal(naive(known, byTime));
          const allAccounts = { ...byTime, account: null };
          for (const sorted of [{ ...query, account: null }, allAccounts]) {
            expect(await wholeList(sorted, limit, effort)).to.deep.equal(naive(known, sorted));
          }
          for (const counted of [byTime, allAccounts]) {
            const { length } = naive(known, counted);
            expect(await countLinks(node.pool, { query: counted, now })).to.equal(length);
            const bounded = await countLinks(node.pool, { query: counted, now }, undefined, 3);
            if (bounded !== null) expect(bounded).to.equal(Math.min(length, 4));
          }
        }
      }),
      { numRuns: 8 },
    );
  }).timeout(180_000);

  it('ends a page of all accounts at the bounds of accounts and examined links', async () => {
    const accounts = ['a', 'b', 'c', 'd'];
    await given(...accounts.map((account) => created(`of-${account}`, {}, { account })));
    const query = { ...queryOf({ search: 'of-d' }), account: null };
    for (const [effort, expected] of [
      [effortOf([9, 9, 1, 9, 0, 1, 1]), [[], [], [], ['of-d']]],
      [effortOf([2, 9, 1, 9, 0, 1, 9]), [[], ['of-d']]],
      [undefined, [['of-d']]],
    ] as const) {
      expect(await pagesOf(query, 10, effort)).to.deep.equal(expected);
    }
  });

  it('contains each link once while others are created, changed and deleted', async () => {
    const subjects = Array.from({ length: 40 }, (_, index) => `old-${10 + index}`);
    await given(...subjects.map((subject, index) => tagged(subject, at(index))));
    for (const values of [{}, { tag: 'x' }, { search: 'OLD' }]) {
      const query = queryOf(values);
      const round = JSON.stringify(values).replace(/\W/g, '-');
      const isOld = (subject: string): boolean => subject.startsWith('old-');
      const before = (await wholeList(query, 100)).filter(isOld);
      const seen: string[] = [];
      let next: string | null = null;
      let step = 0;
      do {
        const read = await page(query, 3, next);
        seen.push(...read.subjects);
        next = read.next;
        step += 1;
        await given(tagged(`new${round}${step}`, at(1_000)));
        const last = read.subjects.at(-1);
        if (last === undefined) continue;
        // The last link of the page is deleted.
        await then(described(last, 2, { tags: ['x'] }, acme), deleted(last, 3, acme));
      } while (next !== null);
      expect(seen.filter(isOld)).to.deep.equal(before);
    }
  });

  it('finds rare matches among many links on one page, including links created while the clock was behind', async () => {
    const count = 9_000;
    await node.pool.query(`
      INSERT INTO projection_redirects.links (subject, status, url, account, created_at, sequence, tags, folded)
      SELECT 'Code' || i, CASE WHEN i % 7 = 0 THEN 'disabled' ELSE 'active' END, url, account,
        timestamptz '2026-01-01' + (i - 1) / 3 * interval '1 second', 1,
        CASE WHEN i % 5 = 0 THEN '["fifth"]'::jsonb END, 'code' || i || E'\\n' || url
      FROM generate_series(1, ${count}) i,
        LATERAL (SELECT CASE WHEN i % 2 = 0 THEN 'acme' ELSE 'other' END AS account,
          'https://example.com/' || md5(i::text) AS url) made;
      INSERT INTO projection_redirects.link_tags (account, tag, created_at, subject)
      SELECT account, 'fifth', created_at, subject FROM projection_redirects.links WHERE tags IS NOT NULL;
      UPDATE projection_redirects.links SET disabled = true WHERE status = 'disabled';
      INSERT INTO ledger.links (subject, key_id, account, disabled, sequence, last_event_at, created_at)
      SELECT subject, 'key', account, status = 'disabled', 1, created_at, created_at FROM projection_redirects.links`);
    const behind = { account: 'acme', time: new Date('2026-01-01T00:10:00.000Z') };
    await given(created('late', { url: 'http://BÜCHER.example/behind' }, behind));

    /** Two steps examine only a few links. */
    const effort = effortOf([100, 100, 2, 1_000, 100, 10, 1]);
    const numbered = (digits: string, divisor = 1): readonly string[] =>
      Array.from({ length: count }, (_, index) => count - index)
        .filter((number) => number % 2 === 0 && number % divisor === 0)
        .map((number) => `Code${number}`)
        .filter((code) => code.startsWith(`Code${digits}`));
    for (const [values, expected] of [
      [{ search: 'code5000' }, ['Code5000']],
      [{ search: 'cfcd208495d565ef66e7dff9f98764da' }, []],
      [{ search: 'CODE77 example' }, numbered('77')],
      [{ search: 'code77', status: 'disabled' }, numbered('77', 7)],
      [{ search: 'code77', tag: 'fifth' }, numbered('77', 5)],
      [{ search: 'code500', sort: 'clicks' }, numbered('500')],
      [{ search: 'nowhere-at-all', tag: 'fifth' }, []],
      [{ search: '/behind' }, ['late']],
      [{ destination: 'bücher.example' }, ['late']],
      [{ destination: 'nowhere.example' }, []],
    ] as const) {
      const read = await page(queryOf(values), 100, null, effort);
      expect(read.subjects, JSON.stringify(values)).to.deep.equal(expected);
      expect(read.next, JSON.stringify(values)).to.equal(null);
    }
    const counts = async (values: object, most?: number) =>
      countLinks(node.pool, { query: queryOf(values), now }, undefined, most);
    const { length } = numbered('');
    for (const [values, most, expected] of [
      [{}, undefined, length + 1],
      [{ sort: 'clicks', domain: 'sho.rt' }, undefined, 0],
      [{}, length + 1, length + 1],
      [{}, length, length + 1],
      [{ status: 'disabled' }, undefined, numbered('', 7).length],
      [{ search: 'example' }, 1_000, 1_001],
      // Only the matches of the text index are examined.
      [{ search: 'code77' }, 200, numbered('77').length],
      [{ search: 'co', tag: 'fifth' }, 2_000, numbered('', 5).length],
      [{ status: 'blocked' }, 1, 0],
      [{ search: 'co', createdBefore: '2025-01-01' }, 1, 0],
      [{ search: 'xx' }, 1_000, null],
      [{ tag: 'fifth', search: 'code77' }, 100, null],
      [{ destination: 'bücher.example' }, undefined, 1],
    ] as const) {
      expect(await counts(values, most), JSON.stringify([values, most])).to.equal(expected);
    }
    // Frequent terms and terms without a trigram are searched page by page, to the last link.
    for (const [search, expected] of [
      ['de1', numbered('1')],
      ['!!', []],
      ['весна', []],
    ] as const) {
      const query = queryOf({ search });
      const found = await wholeList(query, 100, { ...effort, indexed: 10 });
      if (search !== 'de1') expect(found).to.deep.equal(expected);
      else expect(found).to.include.members([...expected]);
      expect((await page(query, 100, null, { ...effort, indexed: 10 })).next).not.to.equal(null);
    }
  }).timeout(60_000);

  it('filters by the time of creation; the end is exclusive', async () => {
    const subjects = ['a', 'b', 'c', 'd'];
    await given(...subjects.map((subject, index) => tagged(subject, at(index * 60))));
    const time = (index: number): string => at(index * 60).toISOString();
    const middle = { createdAfter: time(1), createdBefore: time(3) };
    for (const [query, expected] of [
      [{ createdAfter: time(1) }, ['d', 'c', 'b']],
      [{ createdBefore: time(1) }, ['a']],
      [middle, ['c', 'b']],
      [{ ...middle, search: 'exa' }, ['c', 'b']],
      [{ ...middle, tag: 'x' }, ['c', 'b']],
      [{ ...middle, sort: 'clicks' }, ['c', 'b']],
      [{ createdAfter: time(3), createdBefore: time(1) }, []],
      [{ createdBefore: '2026-05-20' }, []],
      // Noon UTC is the first moment of the next day there.
      [{ createdAfter: '2026-05-21', tz: 'Pacific/Auckland' }, ['d', 'c', 'b', 'a']],
      [{ createdBefore: '2026-05-21', tz: 'Pacific/Auckland' }, []],
    ] as const) {
      for (const limit of [1, 10]) {
        const listed = await wholeList(queryOf(query), limit);
        expect(listed, JSON.stringify(query)).to.deep.equal(expected);
      }
    }
    const { next } = await page(queryOf({ createdAfter: time(1) }), 1);
    expect(readCursor(next ?? '', queryOf({ createdAfter: time(1) }))).to.be.an('object');
    expect(readCursor(next ?? '', queryOf({ createdAfter: time(2) }))).to.equal(null);
  });

  it('omits links that no longer match, even if the projection lags', async () => {
    await given(created('abc', {}, acme), created('def', {}, acme));
    await record(deleted('abc', 2, acme));
    expect((await page(queryOf({}), 10)).subjects).to.deep.equal(['def']);
  });

  it('accepts the next of the same query only, with any page size', async () => {
    await given(created('abc', {}, acme), created('def', {}, acme));
    const query = queryOf({ tag: [], search: 'exa' });
    const { next } = await page(query, 1);
    expect(readCursor(next ?? '', queryOf({ search: 'EXA', limit: '7' }))).to.be.an('object');
    for (const [other, account] of [
      [{}, 'acme'],
      [{ search: 'exam' }, 'acme'],
      [{ search: 'exa', sort: 'clicks' }, 'acme'],
      [{ search: 'exa', status: 'active' }, 'acme'],
      [{ search: 'exa', tag: 'x' }, 'acme'],
      [{ search: 'exa', destination: 'example.com' }, 'acme'],
      [{ search: 'exa' }, 'other'],
    ] as const) {
      expect(readCursor(next ?? '', queryOf(other, account)), JSON.stringify(other)).to.equal(null);
    }
    // A forged cursor does not give access to other accounts.
    const text = Buffer.from(next ?? '', 'base64url').toString();
    const [fingerprint, , ...position] = JSON.parse(text) as unknown[];
    const forged = Buffer.from(JSON.stringify([fingerprint, 'other', ...position]));
    expect(readCursor(forged.toString('base64url'), query)).to.equal(null);
    for (const wrong of ['', 'x', 'WzFd', `${next ?? ''}x`, next?.slice(1) ?? '']) {
      expect(readCursor(wrong, query), wrong).to.equal(null);
    }
  });
});
