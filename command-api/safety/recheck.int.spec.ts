import { expect } from 'chai';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createLogger } from '../../ops/platform/logging.js';
import { recordHistory } from '../../ops/test/support/ledger-links.js';
import { named, type TestNode } from '../../ops/test/support/node.js';
import type { LedgerLinkEvent } from '../../schemas/folds/ledger-link.js';
import { blocked, created, expired, unblocked } from '../../schemas/testing/events.js';
import { createLinkBlockHandler } from '../links/block/handler.js';
import { actor } from '../testing/keys.js';
import { openBlocklistFile, type BlocklistFile } from './blocklist.js';
import { recheckSchedule, type Scan } from './recheck.js';
import { createRecheck } from './recheck.js';
import { createSafeBrowsing, safeBrowsingLimits } from './safe-browsing.js';
import { startSafeBrowsingDouble } from './testing/safe-browsing-double.js';
import { createThreatFinder } from './threat-matches.js';
import {
  databaseFixture,
  folderFixture,
  twoLedgersFixture,
} from '../../ops/test/support/fixtures.js';
import { fixture } from '../../ops/test/support/fixture.js';

const logger = createLogger('silent');
const minuteMs = 60_000;

describe('command API: links that are checked again, by two nodes', () => {
  const database = databaseFixture('recheck', { per: 'test' });
  const nodes = twoLedgersFixture(database, { per: 'test' });
  const double = fixture(
    () => startSafeBrowsingDouble(),
    (double) => double.stop(),
    { per: 'test' },
  );
  const folder = folderFixture();
  let file: string;

  before(() => {
    file = path.join(folder.path, 'list.txt');
  });
  beforeEach(async () => {
    await writeFile(file, '# nothing\n');
  });

  /** A process that has read the file as it is now. */
  const checker = async (
    node: TestNode = nodes[0],
    options: { schedule?: readonly Scan[]; list?: BlocklistFile } = {},
  ) => {
    const list = options.list ?? (await openBlocklistFile(file, logger));
    const service = createSafeBrowsing({
      findThreats: createThreatFinder({ apiKey: 'key', url: double.url, timeoutMs: 2_000 }),
      logger,
      limits: { ...safeBrowsingLimits, failures: 1_000 },
    });
    const recheck = createRecheck({
      pool: node.pool,
      safety: {
        blocklist: { ...list, reason: 'listed' },
        services: [{ check: service.recheck, reason: 'Safe Browsing' }],
      },
      blocks: createLinkBlockHandler(node.pool, node.outbox),
      schedule: options.schedule ?? recheckSchedule,
      logger,
      pageSize: 10,
    });
    /** Until nothing is due. */
    const all = async (): Promise<number> => {
      let rounds = 0;
      while ((await recheck()) > 0) rounds += 1;
      return rounds;
    };
    return { list, recheck, all };
  };

  /** Links with a history, in the ledger and, when they are live, in the projection. */
  const record = async (...events: readonly LedgerLinkEvent[]): Promise<void> => {
    await recordHistory(nodes[0], ...events);
    await database.pool.query(
      `INSERT INTO projection_redirects.links (code, status, url, account, created_at, sequence)
       SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[],
                            $6::bigint[])
       ON CONFLICT (code) DO NOTHING`,
      [
        events.map(({ subject }) => subject),
        events.map(() => 'active'),
        events.map((event) => (event.type === 'linklog.LinkCreated.v3' ? event.data.url : '')),
        events.map(() => 'default'),
        events.map(({ time }) => time),
        events.map(() => 1),
      ],
    );
  };

  const ago = (ms: number): Date => new Date(Date.now() - ms);
  const made = (code: string, ageMs: number, host = code) =>
    created(code, { url: `https://${host}.example/` }, { time: ago(ageMs) });

  /** Makes what is known of the scans so much older, as if that time had gone by. */
  const pass = (ms: number) =>
    database.pool.query(
      `UPDATE ledger.safety_scans SET due_at = due_at - $1::float8 * interval '1 millisecond'`,
      [ms],
    );
  const age = (code: string, ms: number) =>
    database.pool.query('UPDATE projection_redirects.links SET created_at = $2 WHERE code = $1', [
      code,
      ago(ms),
    ]);

  const blocks = async () =>
    named('LinkBlocked', await nodes[0].events('links'))
      .map(({ subject, actor, data }) => [subject, actor, data.reason])
      .sort();

  const asked = (): string[] =>
    double
      .urls()
      .flat()
      .map((url) => new URL(url).hostname.replace('.example', ''));

  it('looks at a link at each age once, and then every three days', async () => {
    const { all } = await checker();
    await record(made('spring', 30_000));
    await all();
    expect(asked(), 'half a minute old').to.deep.equal([]);
    const ages = [1.1, 11, 66, 1_560, 4_330, 8_660].map((minutes) => minutes * minuteMs);
    let before = 0.5 * minuteMs;
    for (const [looks, ms] of ages.entries()) {
      await age('spring', ms);
      await pass(ms - before);
      before = ms;
      await all();
      await all();
      expect(asked(), `${ms / minuteMs} minutes old`).to.have.length(looks + 1);
    }
  });

  it('goes on at once after the end of a clock that was days ahead', async () => {
    const { all } = await checker();
    await all();
    await pass(-10 * 1_440 * minuteMs);
    await record(made('spring', 2 * minuteMs));
    await all();
    expect(asked()).to.deep.equal(['spring']);
    await database.pool.query(
      `UPDATE ledger.safety_scans SET past_created_at = past_created_at + interval '10 days'
       WHERE past_code <> ''`,
    );
    await pass(2 * minuteMs);
    await all();
    const { rows } = await database.pool.query(
      'SELECT FROM ledger.safety_scans WHERE past_created_at > clock_timestamp()',
    );
    expect(rows).to.have.length(0);
  });

  it('blocks with actor and reason what is found unsafe later', async () => {
    await record(made('spring', 2 * minuteMs), made('autumn', 2 * minuteMs));
    double.listed.add('spring.example');
    await (await checker()).all();
    expect(await blocks()).to.deep.equal([['spring', 'web-safety', 'Safe Browsing']]);
    const [event] = named('LinkBlocked', await nodes[0].events('links'));
    expect(event?.correlationid).to.match(/^recheck-/);
  });

  it('asks in pages, each link once, however many nodes take turns', async () => {
    const codes = Array.from({ length: 95 }, (_, index) => `many-${index}`);
    // Ten of them were made in the same millisecond: a page ends among them.
    const events = codes.map((code, index) => made(code, 5 * minuteMs - Math.max(0, index - 10)));
    await record(...events);
    for (const code of ['many-3', 'many-50', 'many-94']) double.listed.add(`${code}.example`);
    const schedule = recheckSchedule.slice(0, 1);
    const runs = await Promise.all(
      [nodes[0], nodes[1], nodes[1]].map(async (node) => (await checker(node, { schedule })).all()),
    );
    expect(runs.some((rounds) => rounds > 0)).to.equal(true);
    // Whoever found the scan in another's hands was done early.
    await (await checker(nodes[0], { schedule })).all();
    expect(asked().sort()).to.deep.equal([...codes].sort());
    expect(Math.max(...double.urls().map(({ length }) => length))).to.equal(10);
    expect((await blocks()).map(([code]) => code)).to.deep.equal(['many-3', 'many-50', 'many-94']);
  });

  it('goes slowly over all links, page by page', async () => {
    const round = recheckSchedule.filter(({ restarts }) => restarts);
    await record(
      ...Array.from({ length: 25 }, (_, n) => made(`old-${n}`, 2 * 1_440 * minuteMs - n)),
    );
    const { all } = await checker(nodes[0], { schedule: round });
    const perVisit: number[] = [];
    for (let visit = 0; visit < 5; visit += 1) {
      double.asked.length = 0;
      await all();
      perVisit.push(asked().length);
      await pass(10_001);
    }
    expect(perVisit).to.deep.equal([10, 10, 5, 0, 0]);
  });

  it('waits while the service gives no answer, blocks nothing, and goes on after that', async () => {
    await record(made('spring', 2 * minuteMs), made('evil', 2 * minuteMs));
    const schedule = recheckSchedule.slice(0, 1);
    const { all } = await checker(nodes[0], { schedule });
    double.behaviour = 'fail';
    await all();
    await all();
    expect(double.asked, 'it is not asked again at once').to.have.length(1);
    await pass(10_001);
    await all();
    expect(double.asked).to.have.length(2);
    expect(await blocks()).to.deep.equal([]);
    double.behaviour = 'answer';
    await pass(10_001);
    await all();
    expect((await blocks()).map(([code]) => code)).to.deep.equal(['evil']);
  });

  it('looks at all links at once when the blocklist changes, whatever their age', async () => {
    await record(
      made('young', 0, 'www.listed'),
      ...Array.from({ length: 33 }, (_, n) =>
        made(`old-${n}`, 1e9 + n, n % 4 === 0 ? 'listed' : 'x'),
      ),
      ...Array.from({ length: 5 }, (_, n) => made(`fine-${n}`, 1e8)),
    );
    const { list, all } = await checker(nodes[0], { schedule: [] });
    await all();
    expect(await blocks()).to.deep.equal([]);
    await writeFile(file, 'listed.example\n');
    await all();
    expect(await blocks(), 'it has not read it yet').to.deep.equal([]);
    await list.refresh();
    await all();
    expect(await blocks()).to.have.length(10);
    expect(
      new Set((await blocks()).map(([, actor, reason]) => `${actor} ${reason}`)),
    ).to.deep.equal(new Set(['web-safety listed']));
    expect(double.asked, 'nobody else is asked').to.have.length(0);
  });

  it('looks once for a list that two nodes read, and anew for one that comes back', async () => {
    const one = await checker(nodes[0], { schedule: [] });
    const other = await checker(nodes[1], { schedule: [] });
    const rounds = async (): Promise<number> => (await one.all()) + (await other.all());
    const listed = async (text: string): Promise<void> => {
      await writeFile(file, text);
      await one.list.refresh();
      await other.list.refresh();
    };
    expect(await rounds()).to.equal(1);
    await listed('spring.example\n');
    expect(await rounds()).to.equal(1);
    expect(await rounds()).to.equal(0);
    await listed('# nothing\n');
    expect(await rounds()).to.equal(1);
    await record(made('spring', 0));
    await listed('spring.example\n');
    expect(await rounds()).to.equal(1);
    expect((await blocks()).map(([code]) => code)).to.deep.equal(['spring']);
    const { rows } = await database.pool.query('SELECT name FROM ledger.safety_scans');
    expect(rows, 'what is over is forgotten').to.have.length(1);
  });

  it('lets two nodes with different lists come to their ends', async () => {
    await record(made('one', 0), made('other', 0));
    await writeFile(file, 'one.example\n');
    const one = await checker(nodes[0], { schedule: [] });
    await writeFile(file, 'other.example\n');
    const other = await checker(nodes[1], { schedule: [] });
    await Promise.all([one.all(), other.all()]);
    expect((await blocks()).map(([code]) => code)).to.deep.equal(['one', 'other']);
    expect((await one.all()) + (await other.all())).to.equal(0);
  });

  it('leaves alone what an operator unblocked, and what is blocked or gone', async () => {
    const old = 2 * minuteMs;
    await record(
      made('evil-cleared', old),
      blocked('evil-cleared', 2, { time: ago(0) }),
      unblocked('evil-cleared', 3, { time: ago(0) }),
      made('evil-blocked', old),
      blocked('evil-blocked', 2, { time: ago(0) }),
      made('evil-gone', old),
      expired('evil-gone', 2, 'time', { time: ago(0) }),
    );
    await writeFile(file, 'evil-cleared.example\n');
    await (await checker()).all();
    expect(await blocks()).to.deep.equal([
      ['evil-blocked', undefined, 'phishing'],
      ['evil-cleared', undefined, 'phishing'],
    ]);
  });

  it('does not block again, in whatever round, what it blocked and an operator unblocked', async () => {
    await record(made('spring', 2 * minuteMs));
    await writeFile(file, 'spring.example\n');
    await (await checker()).all();
    expect(await blocks()).to.have.length(1);
    const handler = createLinkBlockHandler(nodes[0].pool, nodes[0].outbox);
    await handler.handle('spring', { type: 'UnblockLink', reason: 'a mistake' }, actor);
    await age('spring', 2_000 * minuteMs);
    await writeFile(file, 'spring.example\nanother.example\n');
    double.listed.add('spring.example');
    await pass(1e9);
    await (await checker()).all();
    expect(await blocks()).to.have.length(1);
  });

  it('takes over from a node that died in its lease', async () => {
    await record(made('evil', 2 * minuteMs));
    double.behaviour = 'hang';
    const dying = (await checker()).all();
    while (double.asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await database.pool.query(
      `UPDATE ledger.safety_scans SET due_at = clock_timestamp() WHERE due_at < 'infinity'`,
    );
    double.behaviour = 'answer';
    await (await checker(nodes[1])).all();
    expect((await blocks()).map(([code]) => code)).to.deep.equal(['evil']);
    const places = async () =>
      (
        await database.pool.query<object>(
          'SELECT name, past_code FROM ledger.safety_scans ORDER BY 1',
        )
      ).rows;
    const after = await places();
    // What the first one finds out now is of no concern to the scan: its lease is over.
    await dying;
    expect(await places()).to.deep.equal(after);
  });
});
