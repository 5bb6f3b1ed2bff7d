import { expect } from 'chai';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createLogger } from '../../ops/platform/logging.js';
import { recordHistory } from '../../ops/test/support/ledger-links.js';
import { named, type TestNode } from '../../ops/test/support/node.js';
import { optionsIn } from '../../schemas/link-options.js';
import { created } from '../../schemas/testing/events.js';
import { emptyTables } from '../../projectors/testing/tables.js';
import { createLinkBlockHandler } from '../links/block/handler.js';
import { rejection } from '../../ops/test/support/waiting.js';
import { actor } from '../testing/keys.js';
import { openBlocklistFile, type BlocklistFile } from './blocklist.js';
import { createRecheck, recheckSchedule, type Scan } from './recheck.js';
import { createSafeBrowsing, safeBrowsingLimits } from './safe-browsing.js';
import { createThreatFinder } from './threat-matches.js';
import {
  databaseFixture,
  folderFixture,
  safeBrowsingFixture,
  twoLedgersFixture,
} from '../../ops/test/support/fixtures.js';

const logger = createLogger('silent');
const minuteMs = 60_000;

describe('command API: links that are checked again, by two nodes', () => {
  const database = databaseFixture('recheck');
  const nodes = twoLedgersFixture(database);
  const double = safeBrowsingFixture({ per: 'test' });
  const folder = folderFixture();
  let file: string;

  beforeEach(async () => {
    file = path.join(folder.path, 'list.txt');
    await writeFile(file, '# nothing\n');
    await emptyTables(database.pool, 'projection_redirects');
    for (const table of ['ledger.links', 'ledger.safety_scans', 'log.records']) {
      await database.pool.query(`DELETE FROM ${table}`);
    }
  });

  /** A process that has read the current file. */
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
    /** Runs until no page is due. */
    const runAll = async (): Promise<number> => {
      let rounds = 0;
      while ((await recheck()) > 0) rounds += 1;
      return rounds;
    };
    return { list, recheck, runAll };
  };

  /** Links in the ledger and in the projection. */
  const record = async (...links: readonly ReturnType<typeof created>[]): Promise<void> => {
    await recordHistory(nodes[0], ...links);
    const rows = links.map(({ subject, time, data }) => {
      const { url } = data;
      const options = optionsIn(data);
      return { subject, status: 'active', url, account: 'default', created_at: time, options };
    });
    await database.pool.query(
      `INSERT INTO projection_redirects.links (subject, status, url, account, created_at, sequence, options)
       SELECT subject, status, url, account, created_at, 1, options
       FROM jsonb_populate_recordset(NULL::projection_redirects.links, $1)`,
      [JSON.stringify(rows)],
    );
  };

  const ago = (ms: number): Date => new Date(Date.now() - ms);
  const linkOf = (subject: string, ageMs: number, host = subject) =>
    created(subject, { url: `https://${host}.example/` }, { time: ago(ageMs) });

  /** Moves the due times into the past, as if `ms` had passed. */
  const pass = (ms: number) =>
    database.pool.query(
      `UPDATE ledger.safety_scans SET due_at = due_at - $1::float8 * interval '1 millisecond'`,
      [ms],
    );
  const age = (subject: string, ms: number) =>
    database.pool.query(
      'UPDATE projection_redirects.links SET created_at = $2 WHERE subject = $1',
      [subject, ago(ms)],
    );

  const blocks = async () =>
    named('LinkBlocked', await nodes[0].events('links'))
      .map(({ subject, actor, data }) => [subject, actor, data.reason])
      .sort();

  const blocked = async () => (await blocks()).map(([subject]) => subject);

  const checkedHosts = (): string[] =>
    double
      .urls()
      .flat()
      .map((url) => new URL(url).hostname.replace('.example', ''));

  it('checks a link once at each age, and then every three days', async () => {
    const { runAll } = await checker();
    await record(linkOf('spring', 30_000));
    await runAll();
    expect(checkedHosts(), 'half a minute old').to.deep.equal([]);
    const ages = [1.1, 11, 66, 1_560, 4_330, 8_660].map((minutes) => minutes * minuteMs);
    let before = 0.5 * minuteMs;
    for (const [checks, ms] of ages.entries()) {
      await age('spring', ms);
      await pass(ms - before);
      before = ms;
      await runAll();
      await runAll();
      expect(checkedHosts(), `${ms / minuteMs} minutes old`).to.have.length(checks + 1);
    }
  });

  it('continues immediately after a clock that was days ahead is corrected', async () => {
    const { runAll } = await checker();
    await runAll();
    await pass(-10 * 1_440 * minuteMs);
    await record(linkOf('spring', 2 * minuteMs));
    await runAll();
    expect(checkedHosts()).to.deep.equal(['spring']);
    await database.pool.query(
      `UPDATE ledger.safety_scans SET past_created_at = past_created_at + interval '10 days'
       WHERE past_subject <> ''`,
    );
    await pass(2 * minuteMs);
    await runAll();
    const { rows } = await database.pool.query(
      'SELECT FROM ledger.safety_scans WHERE past_created_at > clock_timestamp()',
    );
    expect(rows).to.have.length(0);
  });

  it('halves a page that fails, until it succeeds', async () => {
    await record(...Array.from({ length: 9 }, (_, index) => linkOf(`link-${index}`, minuteMs)));
    await writeFile(file, 'link-8.example\n');
    const list = await openBlocklistFile(file, logger);
    const sizes: number[] = [];
    const check: BlocklistFile['check'] = (urls) => {
      sizes.push(urls.length);
      return urls.length > 4 ? Promise.reject(new Error('too large')) : list.check(urls);
    };
    const { recheck } = await checker(nodes[0], { schedule: [], list: { ...list, check } });
    expect(await rejection(recheck())).to.include({ message: 'too large' });
    await pass(1_000);
    expect(await rejection(recheck())).to.include({ message: 'too large' });
    await pass(1_000);
    while ((await recheck()) > 0);
    expect(sizes).to.deep.equal([9, 5, 2, 4, 3]);
    expect(await blocked()).to.deep.equal(['link-8']);
  });

  it('checks each link once, in pages, on several nodes', async () => {
    const subjects = Array.from({ length: 95 }, (_, index) => `many-${index}`);
    // Ten links have the same creation time, and a page ends among them.
    const events = subjects.map((subject, index) =>
      linkOf(subject, 5 * minuteMs - Math.max(0, index - 10)),
    );
    await record(...events);
    for (const subject of ['many-3', 'many-50', 'many-94']) double.listed.add(`${subject}.example`);
    const schedule = recheckSchedule.slice(0, 1);
    const runs = await Promise.all(
      [nodes[0], nodes[1], nodes[1]].map(async (node) =>
        (await checker(node, { schedule })).runAll(),
      ),
    );
    expect(runs.some((rounds) => rounds > 0)).to.equal(true);
    // A process that finds the scan leased ends early.
    await (await checker(nodes[0], { schedule })).runAll();
    expect(checkedHosts().sort()).to.deep.equal([...subjects].sort());
    expect(Math.max(...double.urls().map(({ length }) => length))).to.equal(10);
    const verdict = ['web-safety', 'Safe Browsing'];
    const unsafe = ['many-3', 'many-50', 'many-94'];
    expect(await blocks()).to.deep.equal(unsafe.map((subject) => [subject, ...verdict]));
    const [event] = named('LinkBlocked', await nodes[0].events('links'));
    expect(event?.correlationid).to.match(/^recheck-/);
  });

  it('checks the URLs of options, in pages of one call', async () => {
    const ruled = ['one', 'two', 'three'].map((subject) => {
      const rules = Array.from({ length: 200 }, (_, index) => {
        return { name: `rule-${index}`, when: {}, url: `https://${subject}-${index}.example/` };
      });
      const link = linkOf(subject, 2 * minuteMs);
      return { ...link, data: { ...link.data, rules } };
    });
    const card = { title: 'Sale', image: 'https://bad-image.example/' };
    const others = [{ expiredUrl: 'https://bad-end.example/' }, { card }].map((option, index) => {
      const link = linkOf(`four-${index}`, 2 * minuteMs - 1);
      return { ...link, data: { ...link.data, ...option } };
    });
    await record(...ruled, ...others);
    for (const name of ['three-150', 'bad-end', 'bad-image']) double.listed.add(`${name}.example`);
    const { recheck } = await checker(nodes[0], { schedule: recheckSchedule.slice(0, 1) });
    const calls: number[] = [];
    do {
      calls.push(...double.urls().map(({ length }) => length));
      double.asked.length = 0;
    } while ((await recheck()) > 0);
    expect(calls).to.deep.equal([402, 205]);
    expect(await blocked()).to.deep.equal(['four-0', 'four-1', 'three']);
  });

  it('checks all links page by page, with pauses', async () => {
    const round = recheckSchedule.filter(({ restarts }) => restarts);
    await record(
      ...Array.from({ length: 25 }, (_, n) => linkOf(`old-${n}`, 2 * 1_440 * minuteMs - n)),
    );
    const { runAll } = await checker(nodes[0], { schedule: round });
    const perVisit: number[] = [];
    for (let visit = 0; visit < 5; visit += 1) {
      double.asked.length = 0;
      await runAll();
      perVisit.push(checkedHosts().length);
      await pass(10_001);
    }
    expect(perVisit).to.deep.equal([10, 10, 5, 0, 0]);
  });

  it('pauses while the service is unavailable, and then continues', async () => {
    await record(linkOf('spring', 2 * minuteMs), linkOf('evil', 2 * minuteMs));
    const schedule = recheckSchedule.slice(0, 1);
    const { runAll } = await checker(nodes[0], { schedule });
    double.behaviour = 'fail';
    await runAll();
    await runAll();
    expect(double.asked, 'it pauses before the next call').to.have.length(1);
    await pass(10_001);
    await runAll();
    expect(double.asked).to.have.length(2);
    expect(await blocks()).to.deep.equal([]);
    double.behaviour = 'answer';
    await pass(10_001);
    await runAll();
    expect(await blocked()).to.deep.equal(['evil']);
  });

  it('scans links of any age when the blocklist changes', async () => {
    await record(
      linkOf('young', 0, 'www.listed'),
      ...Array.from({ length: 33 }, (_, n) => {
        return linkOf(`old-${n}`, 1e9 + n, n % 4 === 0 ? 'listed' : 'x');
      }),
    );
    const { list, runAll } = await checker(nodes[0], { schedule: [] });
    await runAll();
    expect(await blocks()).to.deep.equal([]);
    await writeFile(file, 'listed.example\n');
    await runAll();
    expect(await blocks(), 'the new list is not read yet').to.deep.equal([]);
    await list.refresh();
    await runAll();
    expect(await blocks()).to.have.length(10);
    const verdicts = (await blocks()).map(([, actor, reason]) => `${actor} ${reason}`);
    expect(new Set(verdicts)).to.deep.equal(new Set(['web-safety listed']));
    expect(double.asked, 'Safe Browsing is not queried').to.have.length(0);
  });

  it('scans once for a list that two nodes read, and again for a list that returns', async () => {
    const first = await checker(nodes[0], { schedule: [] });
    const second = await checker(nodes[1], { schedule: [] });
    const rounds = async (): Promise<number> => (await first.runAll()) + (await second.runAll());
    const listed = async (text: string): Promise<void> => {
      await writeFile(file, text);
      await first.list.refresh();
      await second.list.refresh();
    };
    expect(await rounds()).to.equal(1);
    await listed('spring.example\n');
    expect(await rounds()).to.equal(1);
    expect(await rounds()).to.equal(0);
    await listed('# nothing\n');
    expect(await rounds()).to.equal(1);
    await record(linkOf('spring', 0));
    await listed('spring.example\n');
    expect(await rounds()).to.equal(1);
    expect(await blocked()).to.deep.equal(['spring']);
    const { rows } = await database.pool.query('SELECT name FROM ledger.safety_scans');
    expect(rows, 'ended scans are deleted').to.have.length(1);
  });

  it('does not block a link again after an operator unblocked it', async () => {
    await record(linkOf('spring', 2 * minuteMs));
    await writeFile(file, 'spring.example\n');
    await (await checker()).runAll();
    expect(await blocks()).to.have.length(1);
    const handler = createLinkBlockHandler(nodes[0].pool, nodes[0].outbox);
    await handler.handle('spring', { type: 'UnblockLink', reason: 'a mistake' }, actor);
    await age('spring', 2_000 * minuteMs);
    await writeFile(file, 'spring.example\nanother.example\n');
    double.listed.add('spring.example');
    await pass(1e9);
    await (await checker()).runAll();
    expect(await blocks()).to.have.length(1);
  });

  it('takes over from a node that died during its lease', async () => {
    await record(linkOf('evil', 2 * minuteMs));
    double.behaviour = 'hang';
    const dying = (await checker()).runAll();
    while (double.asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await database.pool.query(
      `UPDATE ledger.safety_scans SET due_at = clock_timestamp() WHERE due_at < 'infinity'`,
    );
    double.behaviour = 'answer';
    await (await checker(nodes[1])).runAll();
    expect(await blocked()).to.deep.equal(['evil']);
    const scans = 'SELECT name, past_subject FROM ledger.safety_scans ORDER BY 1';
    const positions = async () => (await database.pool.query<object>(scans)).rows;
    const after = await positions();
    // The lease of the first process has ended, so its result does not move the scan.
    await dying;
    expect(await positions()).to.deep.equal(after);
  });
});
