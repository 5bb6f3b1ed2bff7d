import { EventEmitter, once } from 'node:events';
import { expect } from 'chai';
import type { Outbox } from '../../ops/event-log/outbox/port.js';
import { execute, transaction } from '../../ops/platform/postgres/pool.js';
import { recordHistory } from '../../ops/test/support/ledger-links.js';
import { saveCodes } from '../../ops/ledger/codes.js';
import { writeOnly } from '../../ops/platform/postgres/statement.js';
import { isCodeEvent, type LinkEvent } from '../../schemas/events/catalogue.js';
import { evolveLink, initialState } from '../../schemas/folds/link.js';
import { rowOfState } from '../../schemas/read-models/redirects.js';
import {
  at,
  blocked,
  codeAdded,
  codeRemoved,
  created,
  deleted,
  disabled,
  edited,
  expired,
  unblocked,
} from '../../schemas/testing/events.js';
import { servedLink } from '../redirect/decision.js';
import { LinkCache, LinkReader } from './link-reader.js';
import { warmUp } from './warm-up.js';
import { fixture } from '../../ops/test/support/fixture.js';
import { databaseFixture, ledgerFixture } from '../../ops/test/support/fixtures.js';

describe('redirect edge: link reader', () => {
  const database = databaseFixture('reader');
  const node = ledgerFixture(database);
  const reader = fixture(() => new LinkReader(node.pool, node.outbox, cache));
  const cache = new LinkCache(1e6);

  /** Writes the projected rows of the histories of links; the log may have more. */
  const project = async (...histories: readonly (readonly LinkEvent[])[]): Promise<void> => {
    const rows = histories.map((events) =>
      JSON.stringify(rowOfState(events.reduce(evolveLink, initialState), events.length)),
    );
    await node.pool.query(
      `INSERT INTO projection_redirects.links
       SELECT r.* FROM unnest($1::jsonb[]) WITH ORDINALITY AS e (row, number),
         jsonb_populate_record(NULL::projection_redirects.links, e.row) AS r ORDER BY number`,
      [rows],
    );
  };

  /** The link without the cache. */
  const uncached = (subject: string) => {
    cache.delete(subject);
    return reader.read(subject);
  };

  it('does not cache that a link does not exist', async () => {
    expect(await reader.read('spring')).to.equal(null);
    await recordHistory(node, created('spring', { maxClicks: 3 }, { account: 'acme' }));
    const link = {
      ...{ subject: 'spring', account: 'acme', status: 'active', sequence: 1 },
      ...{ location: 'https://example.com/spring', options: {} },
      ...{ createdAt: Date.parse('2026-05-20T12:00:00.000Z'), startsAt: null, expiresAt: null },
      ...{ campaigns: null, limited: true, passwordHash: null, codes: [] },
    };
    expect(reader.cached('spring')).to.equal(undefined);
    expect(await reader.read('spring')).to.deep.equal(link);
    expect(reader.cached('spring')).to.deep.include(link);
  });

  it('finds a link by a code that is not in memory yet, and a removed code as deleted', async () => {
    const history = [
      created('coded'),
      ...['coded-2', 'coded-3'].map((code, index) =>
        codeAdded('coded', index + 2, { code, keyId: 'key-1' }),
      ),
      codeRemoved('coded', 4, { code: 'coded-3' }),
    ];
    // An edge that was not notified of the codes has the link in memory.
    await recordHistory(node, ...history.slice(0, 1));
    await reader.read('coded');
    await recordHistory(node, ...history.slice(1));
    await execute(node.pool, writeOnly(saveCodes(history.filter(isCodeEvent))));
    expect(reader.cached('coded-2')).to.equal(undefined);
    expect(await reader.read('coded-2')).to.include({ subject: 'coded', status: 'active' });
    expect(reader.cached('coded-2')).to.include({ subject: 'coded', sequence: 4 });
    expect(await reader.read('coded-3')).to.include({ subject: 'coded', status: 'deleted' });
    expect(reader.cached('coded')).to.include({ status: 'active' });
  });

  it('does not confuse links of one partition', async () => {
    for (const subject of ['springs', 'SPRING']) expect(await reader.read(subject)).to.equal(null);
  });

  describe('with a forged projected row', () => {
    const evil: Parameters<typeof edited>[2] = {
      ...{ url: 'https://evil.example/', rules: [{ name: 'a', when: {}, url: 'https://evil/' }] },
      ...{ forwardQuery: false, password: 'removed', expiresAt: null },
      maxClicks: 9,
    };
    const rules = [{ name: 'all', when: {}, url: 'https://own.example/' }];
    const secured = { passwordHash: 'hash', expiresAt: at(60).toISOString() };
    const own = created('own', { ...secured, rules, forwardQuery: true });
    const moved = edited('own', 2, { url: 'https://example.com/new' });
    const changed = edited('own', 2, { rules: null, forwardQuery: false });
    const set = edited('own', 3, { password: 'set', passwordHash: 'new' });
    const forged = (sequence: number): readonly LinkEvent[] => [
      ...[edited('own', sequence, evil), disabled('own', sequence + 1)],
      deleted('own', sequence + 2),
    ];
    // The events in the log, and those of the projected row.
    const histories: readonly (readonly [log: readonly LinkEvent[], row: readonly LinkEvent[]])[] =
      [
        [[], [own]],
        [[own], [own, ...forged(2)]],
        [[created('own')], [created('own'), ...forged(2)]],
        [[created('own')], [created('own'), expired('own', 2), blocked('own', 3)]],
        [
          [own, blocked('own', 2)],
          [own, blocked('own', 2), unblocked('own', 3)],
        ],
        [
          [own, moved],
          [own, ...forged(2)],
        ],
        [
          [own, changed],
          [own, changed, ...forged(3)],
        ],
        [
          [own, moved, set, deleted('own', 4)],
          [own, moved, ...forged(3)],
        ],
      ];
    for (const [log, row] of histories) {
      const names = log.map(({ type }) => type.split('.')[1]).join(', ');
      it(`takes the link from the log: ${names === '' ? 'no event' : names}`, async () => {
        for (const table of ['projection_redirects.links', 'ledger.links'])
          await node.pool.query(`DELETE FROM ${table} WHERE subject = 'own'`);
        if (log.length > 0) await recordHistory(node, ...log);
        await project(row);
        const expected = servedLink(log.reduce(evolveLink, initialState), log.length);
        expect(await uncached('own')).to.deep.equal(expected);
      });
    }
  });

  it('adds only the later events to the projected row', async () => {
    const positions: Parameters<Outbox['after']>[2][number][] = [];
    const watched: Outbox = {
      ...node.outbox,
      after(postgres, topic, known) {
        positions.push(...known);
        return node.outbox.after(postgres, topic, known);
      },
    };
    const watchedReader = new LinkReader(node.pool, watched, new LinkCache(1e6));
    const location = 'https://example.com/projected';
    const history = [created('both'), blocked('both', 2), unblocked('both', 3), expired('both', 4)];
    await recordHistory(node, ...history);
    await project([created('both', { url: location }), ...history.slice(1, 2)]);
    expect(await watchedReader.read('both')).to.include({ status: 'expired', location });

    const lifted = [created('lifted'), blocked('lifted', 2), unblocked('lifted', 3)];
    await recordHistory(node, ...lifted);
    await project(lifted);
    expect(await watchedReader.read('lifted')).to.include({ status: 'active' });
    expect(positions).to.deep.equal([
      { subject: 'both', sequence: 2 },
      { subject: 'lifted', sequence: 3 },
    ]);
  });

  it('reads later changes of a dropped link', async () => {
    await recordHistory(node, created('news'));
    expect(await reader.read('news')).to.include({ status: 'active' });
    await transaction(node.pool, (tx) => execute(tx, node.outbox.record([blocked('news', 2)])));
    expect(reader.cached('news')?.status).to.equal('active');
    reader.forget('news');
    expect(reader.cached('news')).to.equal(undefined);
    expect(await reader.read('news')).to.include({ status: 'blocked' });
  });

  it('drops a cached link on a change notification, even if the cached version is newer', async () => {
    await recordHistory(node, created('boast'));
    const link = await reader.read('boast');
    if (!link) throw new Error('the link does not exist');
    cache.set({ ...link, sequence: Number.MAX_SAFE_INTEGER }, 0);
    expect(reader.cached('boast')?.sequence).to.equal(Number.MAX_SAFE_INTEGER);
    reader.changed('boast', 2);
    expect(reader.cached('boast')).to.equal(undefined);
  });

  it('returns to each of many concurrent visitors its own link', async () => {
    const subjects = Array.from({ length: 300 }, (_, index) => `many-${index}`);
    await recordHistory(node, ...subjects.map((subject) => created(subject)));
    const requested = subjects.flatMap((subject) => [subject, `${subject}-not`, subject]);
    const links = await Promise.all(requested.map((subject) => reader.read(subject)));
    expect(links.map((link) => link?.subject ?? null)).to.deep.equal(
      requested.map((subject) => (subject.endsWith('-not') ? null : subject)),
    );
  });

  it('reads stale links again: once, or for every visit while it does not listen', async () => {
    await recordHistory(node, created('stale'));
    const isCachedAfterRead = async (): Promise<boolean> => {
      await reader.read('stale');
      return reader.cached('stale') !== undefined;
    };
    expect(await isCachedAfterRead()).to.be.true;
    reader.markAllStale(true);
    expect(reader.cached('stale')).to.equal(undefined);
    expect(await isCachedAfterRead()).to.be.true;
    reader.markAllStale(false);
    expect(await isCachedAfterRead()).to.be.false;
    reader.markAllStale(true);
  });

  describe('whose query is slow', () => {
    /** A reader whose query returns only after `release`. */
    const slowReader = () => {
      const signals = new EventEmitter();
      const [queried, released] = [once(signals, 'queried'), once(signals, 'release')];
      const outbox: Outbox = {
        ...node.outbox,
        async after(postgres, topic, known) {
          const events = await node.outbox.after(postgres, topic, known);
          signals.emit('queried');
          await released;
          return events;
        },
      };
      const slow = new LinkReader(node.pool, outbox, new LinkCache(1e6));
      return { slow, queried, release: () => signals.emit('release') };
    };

    it('returns “not found” only to visitors who were waiting at the time of the query', async () => {
      const { slow, queried, release } = slowReader();
      const early = slow.read('late');
      await queried;
      await recordHistory(node, created('late'));
      // Visitors after the 201 must be redirected.
      const later = slow.read('late');
      release();
      expect(await early).to.equal(null);
      expect(await later).to.include({ subject: 'late', status: 'active' });
    });

    it('does not cache a link that changed during its query', async () => {
      await recordHistory(node, created('changing'), created('quiet'));
      const { slow, queried, release } = slowReader();
      const reading = Promise.all([slow.read('changing'), slow.read('quiet')]);
      await queried;
      slow.changed('changing', 2);
      release();
      expect((await reading).map((link) => link?.subject)).to.deep.equal(['changing', 'quiet']);
      expect(slow.cached('changing')).to.equal(undefined);
      expect(slow.cached('quiet')?.subject).to.equal('quiet');
    });

    it('does not cache a link that became stale during its query', async () => {
      await recordHistory(node, created('overtaken'));
      const { slow, queried, release } = slowReader();
      const reading = slow.read('overtaken');
      await queried;
      slow.markAllStale(true);
      release();
      expect((await reading)?.subject).to.equal('overtaken');
      expect(slow.cached('overtaken')).to.equal(undefined);
    });
  });

  describe('at the start', () => {
    const links = Array.from({ length: 600 }, (_, index) =>
      created(`link-${index}`, { url: `https://example.com/${index}/${'x'.repeat(1_000)}` }),
    );

    before(async () => {
      await recordHistory(node, ...links);
      await node.pool.query('DELETE FROM projection_redirects.links');
      await project(...links.map((link) => [link]));
    });

    const warmUpCache = async (bytes: number, signal = new AbortController().signal) => {
      const warmed = new LinkCache(bytes);
      const own = new LinkReader(node.pool, node.outbox, warmed);
      await warmUp({ postgres: node.pool, links: own, cache: warmed, signal });
      const isCached = (index: number): boolean => own.cached(`link-${index}`) !== undefined;
      return { count: warmed.count, room: warmed.room, oldest: isCached(0), newest: isCached(599) };
    };

    it('reads all links into the cache if it is large enough', async () => {
      expect(await warmUpCache(64e6)).to.include({ count: 600, oldest: true, newest: true });
    });

    it('reads only the newest links if it is not, and evicts none', async () => {
      const { count, room, ...cached } = await warmUpCache(1.2e6);
      expect(count).to.be.within(1, 599);
      expect(room).to.be.above(0);
      expect(cached).to.deep.equal({ oldest: false, newest: true });
    });

    it('stops reading when the signal is aborted', async () => {
      expect((await warmUpCache(64e6, AbortSignal.abort())).count).to.equal(0);
    });
  });
});
