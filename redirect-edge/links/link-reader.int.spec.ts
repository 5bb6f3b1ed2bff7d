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

  /** The projector's row after these events, however many more the log has. */
  const project = async (...events: readonly LinkEvent[]): Promise<void> => {
    const row = rowOfState(events.reduce(evolveLink, initialState), events.length);
    if (!row) throw new Error('A link that was made has a row');
    await node.pool.query(
      'INSERT INTO projection_redirects.links SELECT * FROM jsonb_populate_record(NULL::projection_redirects.links, $1)',
      [row],
    );
  };

  const statusOf = async (code: string): Promise<string | null> =>
    (await reader.read(code))?.status ?? null;

  it('finds a link that a look-up missed a moment before it was made', async () => {
    expect(await reader.read('spring')).to.equal(null);
    await recordHistory(node, created('spring', { maxClicks: 3 }, { account: 'acme' }));
    const link = {
      code: 'spring',
      account: 'acme',
      status: 'active',
      location: 'https://example.com/spring',
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

  it('reads what is projected', async () => {
    await recordHistory(node, created('old', { maxClicks: 3 }));
    await project(created('old', { url: 'https://example.com/projected', maxClicks: 3 }));
    expect(await reader.read('old')).to.include({
      location: 'https://example.com/projected',
      limited: true,
    });
  });

  it('believes no projected row that a link exists, is blocked or not, or has expired', async () => {
    await project(created('forged'));
    expect(await statusOf('forged')).to.equal(null);
    await recordHistory(node, created('harmful'), blocked('harmful', 2));
    await project(created('harmful'), blocked('harmful', 2), unblocked('harmful', 3));
    expect(await reader.read('harmful')).to.include({ status: 'blocked', sequence: 2 });
    await recordHistory(node, created('harmless'));
    await project(created('harmless'), expired('harmless', 2), blocked('harmless', 3));
    expect(await reader.read('harmless')).to.include({ status: 'active', sequence: 1 });
  });

  it('believes no projected row where a link leads, to whom, and that it was disabled or deleted', async () => {
    const evil = edited('aim', 2, {
      ...{ url: 'https://evil.example/', password: 'removed', expiresAt: null, maxClicks: 9 },
    } as const);
    const aim = created('aim', { passwordHash: 'hash', expiresAt: at(60).toISOString() });
    await recordHistory(node, aim);
    await project(aim, evil, disabled('aim', 3), deleted('aim', 4));
    const asMade = {
      ...{ status: 'active', location: 'https://example.com/aim', passwordHash: 'hash' },
      ...{ expiresAt: at(60).getTime(), limited: false },
    };
    expect(await reader.read('aim')).to.include(asMade);
    cache.delete('aim');
    const url = 'https://example.com/new';
    await recordHistory(node, aim, edited('aim', 2, { url }));
    expect(await reader.read('aim')).to.include({ ...asMade, location: url, sequence: 2 });
    const set = edited('aim', 3, { password: 'set', passwordHash: 'new' });
    await recordHistory(node, aim, edited('aim', 2, { url }), set, deleted('aim', 4));
    cache.delete('aim');
    const last = { status: 'deleted', location: url, passwordHash: 'new', sequence: 4 };
    expect(await reader.read('aim')).to.include(last);
  });

  it('folds the later events into the projected row, and asks for no others', async () => {
    const asked: Parameters<Outbox['after']>[2][number][] = [];
    const watched: Outbox = {
      ...node.outbox,
      after(postgres, topic, known) {
        asked.push(...known);
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
    expect(asked).to.deep.equal([
      { subject: 'both', sequence: 2 },
      { subject: 'lifted', sequence: 3 },
    ]);
  });

  it('waits for no other pool, such as one whose connections do not answer', async () => {
    const { url } = database;
    const logger = createLogger('silent');
    const logPool = createPool({ url, name: 'log', max: 1, deadlines: 'patient', logger });
    const { log, outbox } = await openTestLog({ pool: logPool, url, logger });
    const taken = await logPool.connect();
    try {
      const own = new LinkReader(node.pool, outbox, new LinkCache(1e6));
      await recordHistory(node, created('apart'));
      const link = await within(5_000, 'The link was not read', own.read('apart'));
      expect(link?.code).to.equal('apart');
    } finally {
      taken.release();
      await log.close();
      await logPool.end();
    }
  });

  it('reads the later changes of a forgotten link', async () => {
    await recordHistory(node, created('news'));
    expect(await statusOf('news')).to.equal('active');
    await transaction(node.pool, (tx) => execute(tx, node.outbox.record([blocked('news', 2)])));
    expect(reader.cached('news')?.status).to.equal('active');
    reader.forget('news');
    expect(reader.cached('news')).to.equal(undefined);
    expect(await statusOf('news')).to.equal('blocked');
  });

  it('forgets a link of which it hears a change, however new the link in memory says that it is', async () => {
    await recordHistory(node, created('boast'));
    const link = await reader.read('boast');
    if (!link) throw new Error('The link was made');
    cache.set({ ...link, sequence: Number.MAX_SAFE_INTEGER }, 0);
    expect(reader.cached('boast')?.sequence).to.equal(Number.MAX_SAFE_INTEGER);
    reader.changed('boast', 2);
    expect(reader.cached('boast')).to.equal(undefined);
  });

  it('answers many visitors at once, each with its own link', async () => {
    const codes = Array.from({ length: 300 }, (_, index) => `many-${index}`);
    await recordHistory(node, ...codes.map((code) => created(code)));
    const asked = codes.flatMap((code) => [code, `${code}-not`, code]);
    const answers = await Promise.all(asked.map((code) => reader.read(code)));
    expect(answers.map((link) => link?.code ?? null)).to.deep.equal(
      asked.map((code) => (code.endsWith('-not') ? null : code)),
    );
  });

  /** A reader whose query has its answer, and does not give it before it is released. */
  const slowReader = () => {
    const signals = new EventEmitter();
    const looked = once(signals, 'look');
    const released = once(signals, 'release');
    const outbox: Outbox = {
      ...node.outbox,
      async after(postgres, topic, known) {
        const events = await node.outbox.after(postgres, topic, known);
        signals.emit('look');
        await released;
        return events;
      },
    };
    return {
      slow: new LinkReader(node.pool, outbox, new LinkCache(1e6)),
      looked,
      release: (): void => {
        signals.emit('release');
      },
    };
  };

  it('answers “not found” only to the visitors who were waiting when it looked', async () => {
    const { slow, looked, release } = slowReader();
    const early = slow.read('late');
    await looked;
    await recordHistory(node, created('late'));
    // Its 201 is out: from here on everybody must be redirected.
    const later = slow.read('late');
    release();
    expect(await early).to.equal(null);
    expect(await later).to.include({ code: 'late', status: 'active' });
  });

  it('does not keep a link that changed during its query', async () => {
    await recordHistory(node, created('changing'), created('quiet'));
    const { slow, looked, release } = slowReader();
    const reading = Promise.all([slow.read('changing'), slow.read('quiet')]);
    await looked;
    slow.changed('changing', 2);
    release();
    expect((await reading).map((link) => link?.code)).to.deep.equal(['changing', 'quiet']);
    expect(slow.cached('changing')).to.equal(undefined);
    expect(slow.cached('quiet')?.code).to.equal('quiet');
  });

  it('reads links in doubt again: once, or always while changes are not heard of', async () => {
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

  it('does not keep an answer that came into doubt while it waited', async () => {
    await recordHistory(node, created('overtaken'));
    const { slow, looked, release } = slowReader();
    const reading = slow.read('overtaken');
    await looked;
    slow.markAllStale(true);
    release();
    expect((await reading)?.code).to.equal('overtaken');
    expect(slow.cached('overtaken')).to.equal(undefined);
  });
});
