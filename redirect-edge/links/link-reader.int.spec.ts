import { EventEmitter, once } from 'node:events';
import { expect } from 'chai';
import type { Outbox } from '../../ops/event-log/outbox/port.js';
import { createLogger } from '../../ops/platform/logging.js';
import { execute, createPool, transaction } from '../../ops/platform/postgres/pool.js';
import { recordHistory } from '../../ops/test/support/ledger-links.js';
import { openTestLog } from '../../ops/test/support/node.js';
import { within } from '../../ops/test/support/waiting.js';
import type { LinkEvent } from '../../schemas/events/catalogue.js';
import { evolveLink, initialState } from '../../schemas/folds/link.js';
import { rowOfState } from '../../schemas/read-models/redirects.js';
import {
  at,
  blocked,
  created,
  deleted,
  disabled,
  edited,
  expired,
  unblocked,
} from '../../schemas/testing/events.js';
import { LinkCache, LinkReader } from './link-reader.js';
import { fixture } from '../../ops/test/support/fixture.js';
import { databaseFixture, ledgerFixture } from '../../ops/test/support/fixtures.js';

describe('redirect edge: link reader', () => {
  const database = databaseFixture('reader');
  const node = ledgerFixture(database);
  const reader = fixture(() => new LinkReader(node.pool, node.outbox, cache));
  const cache = new LinkCache(1e6);

  /** Writes the projected row of these events; the log may have more. */
  const project = async (...events: readonly LinkEvent[]): Promise<void> => {
    const row = rowOfState(events.reduce(evolveLink, initialState), events.length);
    if (!row) throw new Error('the link does not exist');
    await node.pool.query(
      'INSERT INTO projection_redirects.links SELECT * FROM jsonb_populate_record(NULL::projection_redirects.links, $1)',
      [row],
    );
  };

  const statusOf = async (subject: string): Promise<string | null> =>
    (await reader.read(subject))?.status ?? null;

  it('does not cache that a link does not exist', async () => {
    expect(await reader.read('spring')).to.equal(null);
    await recordHistory(node, created('spring', { maxClicks: 3 }, { account: 'acme' }));
    const link = {
      subject: 'spring',
      account: 'acme',
      status: 'active',
      location: 'https://example.com/spring',
      rules: null,
      forwardQuery: false,
      createdAt: Date.parse('2026-05-20T12:00:00.000Z'),
      startsAt: null,
      expiresAt: null,
      limited: true,
      passwordHash: null,
      sequence: 1,
    };
    expect(reader.cached('spring')).to.equal(undefined);
    expect(await reader.read('spring')).to.deep.equal(link);
    expect(reader.cached('spring')).to.deep.include(link);
  });

  it('does not confuse links of one partition', async () => {
    expect(await reader.read('springs')).to.equal(null);
    expect(await reader.read('SPRING')).to.equal(null);
  });

  it('reads the projected row', async () => {
    await recordHistory(node, created('old', { maxClicks: 3 }));
    await project(created('old', { url: 'https://example.com/projected', maxClicks: 3 }));
    expect(await reader.read('old')).to.include({
      location: 'https://example.com/projected',
      limited: true,
    });
  });

  it('takes existence, block and expiry from the log, not from the projected row', async () => {
    await project(created('forged'));
    expect(await statusOf('forged')).to.equal(null);
    await recordHistory(node, created('harmful'), blocked('harmful', 2));
    await project(created('harmful'), blocked('harmful', 2), unblocked('harmful', 3));
    expect(await reader.read('harmful')).to.include({ status: 'blocked', sequence: 2 });
    await recordHistory(node, created('harmless'));
    await project(created('harmless'), expired('harmless', 2), blocked('harmless', 3));
    expect(await reader.read('harmless')).to.include({ status: 'active', sequence: 1 });
  });

  it('takes destination, password and status from the log, not from the projected row', async () => {
    const evil = edited('aim', 2, {
      ...{ url: 'https://evil.example/', password: 'removed', expiresAt: null, maxClicks: 9 },
    } as const);
    const aim = created('aim', { passwordHash: 'hash', expiresAt: at(60).toISOString() });
    await recordHistory(node, aim);
    await project(aim, evil, disabled('aim', 3), deleted('aim', 4));
    const initial = {
      ...{ status: 'active', location: 'https://example.com/aim', passwordHash: 'hash' },
      ...{ expiresAt: at(60).getTime(), limited: false },
    };
    expect(await reader.read('aim')).to.include(initial);
    cache.delete('aim');
    const url = 'https://example.com/new';
    await recordHistory(node, aim, edited('aim', 2, { url }));
    expect(await reader.read('aim')).to.include({ ...initial, location: url, sequence: 2 });
    const set = edited('aim', 3, { password: 'set', passwordHash: 'new' });
    await recordHistory(node, aim, edited('aim', 2, { url }), set, deleted('aim', 4));
    cache.delete('aim');
    const last = { status: 'deleted', location: url, passwordHash: 'new', sequence: 4 };
    expect(await reader.read('aim')).to.include(last);
  });

  it('takes rules and forwardQuery from the log, not from the projected row', async () => {
    const ruleTo = (host: string) => [{ name: 'all', when: {}, url: `https://${host}/` }];
    const evil = edited('ruled', 2, { rules: ruleTo('evil.example') });
    const rulesOf = async (subject: string): Promise<unknown> => {
      cache.delete(subject);
      return (await reader.read(subject))?.rules;
    };
    const plain = created('ruled');
    await recordHistory(node, plain);
    await project(plain, evil);
    expect(await rulesOf('ruled')).to.equal(null);
    const own = edited('ruled', 2, { rules: ruleTo('own.example') });
    await recordHistory(node, plain, own);
    expect(await rulesOf('ruled')).to.deep.equal(ruleTo('own.example'));
    await recordHistory(node, plain, own, edited('ruled', 3, { rules: null }));
    expect(await rulesOf('ruled')).to.equal(null);

    const ruled = created('was-ruled', { rules: ruleTo('own.example') });
    await recordHistory(node, ruled);
    await project(ruled, edited('was-ruled', 2, { rules: null }));
    expect(await rulesOf('was-ruled')).to.deep.equal(ruleTo('own.example'));

    const forwarding = created('forwarding', { forwardQuery: true });
    await recordHistory(node, forwarding);
    await project(forwarding, edited('forwarding', 2, { forwardQuery: false }));
    expect(await reader.read('forwarding')).to.include({ forwardQuery: true });
    const ended = edited('forwarding', 2, { forwardQuery: false });
    await recordHistory(node, forwarding, ended);
    cache.delete('forwarding');
    expect(await reader.read('forwarding')).to.include({ forwardQuery: false });
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
    const history = [created('both'), blocked('both', 2), unblocked('both', 3), expired('both', 4)];
    await recordHistory(node, ...history);
    await project(...history.slice(0, 2));
    expect(await watchedReader.read('both')).to.include({ status: 'expired' });

    const lifted = [created('lifted'), blocked('lifted', 2), unblocked('lifted', 3)];
    await recordHistory(node, ...lifted);
    await project(...lifted);
    expect(await watchedReader.read('lifted')).to.include({ status: 'active' });
    expect(positions).to.deep.equal([
      { subject: 'both', sequence: 2 },
      { subject: 'lifted', sequence: 3 },
    ]);
  });

  it('uses only its own pool', async () => {
    const { url } = database;
    const logger = createLogger('silent');
    const logPool = createPool({ url, name: 'log', max: 1, deadlines: 'patient', logger });
    const { log, outbox } = await openTestLog({ pool: logPool, url, logger });
    const taken = await logPool.connect();
    try {
      const own = new LinkReader(node.pool, outbox, new LinkCache(1e6));
      await recordHistory(node, created('apart'));
      const link = await within(5_000, 'the link was not read', own.read('apart'));
      expect(link?.subject).to.equal('apart');
    } finally {
      taken.release();
      await log.close();
      await logPool.end();
    }
  });

  it('reads later changes of a dropped link', async () => {
    await recordHistory(node, created('news'));
    expect(await statusOf('news')).to.equal('active');
    await transaction(node.pool, (tx) => execute(tx, node.outbox.record([blocked('news', 2)])));
    expect(reader.cached('news')?.status).to.equal('active');
    reader.forget('news');
    expect(reader.cached('news')).to.equal(undefined);
    expect(await statusOf('news')).to.equal('blocked');
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

  /** A reader whose query returns only after `release`. */
  const slowReader = () => {
    const signals = new EventEmitter();
    const queried = once(signals, 'queried');
    const released = once(signals, 'release');
    const outbox: Outbox = {
      ...node.outbox,
      async after(postgres, topic, known) {
        const events = await node.outbox.after(postgres, topic, known);
        signals.emit('queried');
        await released;
        return events;
      },
    };
    return {
      slow: new LinkReader(node.pool, outbox, new LinkCache(1e6)),
      queried,
      release: (): void => {
        signals.emit('release');
      },
    };
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

  it('reads stale links again: once, or for every visit while it does not listen', async () => {
    await recordHistory(node, created('stale'));
    const inMemory = (): boolean => reader.cached('stale') !== undefined;
    await reader.read('stale');
    expect(inMemory()).to.be.true;
    reader.markAllStale(true);
    expect(inMemory()).to.be.false;
    await reader.read('stale');
    expect(inMemory()).to.be.true;
    reader.markAllStale(false);
    await reader.read('stale');
    expect(inMemory()).to.be.false;
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
