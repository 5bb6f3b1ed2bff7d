import { webDestinations } from '../../schemas/http/link-fields.js';
import { expect } from 'chai';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { createLogger } from '../../ops/platform/logging.js';
import { newId } from '../../ops/platform/new-id.js';
import { databaseFixture, twoLedgersFixture } from '../../ops/test/support/fixtures.js';
import { foldedLinks, storedLinks } from '../../ops/test/support/ledger-links.js';
import { named, type TestNode } from '../../ops/test/support/node.js';
import { eventually, rejection } from '../../ops/test/support/waiting.js';
import type { ImportedRow, ImportQuery } from '../../schemas/http/imports.js';
import { createShortenHandler } from '../links/create/handler.js';
import { linkRecord, toAsync } from '../testing/import-files.js';
import { newKey } from '../testing/keys.js';
import { randomCode, shortenCommand } from '../testing/links.js';
import { waitForLockWaits } from '../testing/nodes.js';
import { ImportFileFault } from './formats/records.js';
import { decidePortion, type PayingKey } from './portion.js';
import { createRowCheck, type CheckedRow } from './row-check.js';
import {
  cleanUpImports,
  countUnfinished,
  deleteOldImports,
  endImport,
  ImportLeaseLost,
  insertImport,
  leaseImport,
  readImports,
  readOutcomes,
  readPortion,
  startPhase,
  type RunningImport,
} from './store.js';
import { ImportTooLarge, receiveFile } from './upload.js';

const url = 'https://example.com/';
const checkRow = createRowCheck({ defaultDomain: null, destinations: webDestinations });
const domains = { domain: null, isActive: () => false, isStrict: false, ignoresCase: () => false };

const csv = (...rows: readonly string[]): string => ['code,url', ...rows, ''].join('\n');
const row = (code: string, to = url): string => `${code},${to}`;

const query: ImportQuery = {
  ...{ format: 'auto', onConflict: 'skip', dryRun: false, visits: false },
  ...{ linkZone: 'UTC', visitZone: 'UTC' },
};

describe('imports: portions, on two nodes', () => {
  const database = databaseFixture('imports');
  const nodes = twoLedgersFixture(database);
  const [node, other] = nodes;

  beforeEach(() => node.pool.query('TRUNCATE imports.imports CASCADE'));

  afterEach('the tables are the fold of the log, and no code is assigned twice', async () => {
    expect(await storedLinks(node)).to.deep.equal(await foldedLinks(node));
    const events = named('LinkImported', await node.events('links'));
    expect(new Set(events.map(({ subject }) => subject)).size).to.equal(events.length);
  });

  const receive = (
    file: string | Buffer,
    changes: Partial<ImportQuery> = {},
    { account = 'acme', maxBytes = 1_000_000 } = {},
  ): Promise<string> =>
    receiveFile(node.pool, createLogger('silent'), {
      ...{ account, keyId: null, actor: 'maria', requestId: 'request-1', maxBytes },
      ...{ query: { ...query, ...changes }, chunks: toAsync([Buffer.from(file)]) },
    });

  const lease = async (owner: string, { pool }: Pick<TestNode, 'pool'> = node) => {
    const running = await leaseImport(pool, owner);
    if (!running) throw new Error('no import is running');
    return running;
  };

  const readRows = async ({ id, position }: RunningImport): Promise<readonly CheckedRow[]> =>
    (await readPortion(node.pool, id, position)).map((record) => checkRow(record, domains));

  /** Decides the next portion of a leased import. */
  const decide = async (
    running: RunningImport,
    owner: string,
    { pool, outbox, clock }: TestNode = node,
    key: PayingKey | null = null,
  ): Promise<void> =>
    decidePortion({ pool, outbox, clock, owner }, running, key, await readRows(running));

  /** Leases the next portion of an import, and decides it. */
  const decideNext = async (owner = newId()): Promise<RunningImport> => {
    const running = await lease(owner);
    await decide(running, owner);
    return running;
  };

  /** Decides the first portions of two files on two nodes at the same time. Returns the counts of both. */
  const decideBoth = async (files: readonly [string, string], key: PayingKey | null = null) => {
    const ids = [await receive(files[0]), await receive(files[1])];
    const owners = [newId(), newId()] as const;
    const leased = [await lease(owners[0]), await lease(owners[1], other)] as const;
    expect(leased.map(({ id }) => id)).to.deep.equal(ids);
    await Promise.all([
      decide(leased[0], owners[0], node, key),
      decide(leased[1], owners[1], other, key),
    ]);
    const [first, second] = await Promise.all(ids.map(importOf));
    return {
      created: (first?.created ?? 0) + (second?.created ?? 0),
      failed: (first?.failed ?? 0) + (second?.failed ?? 0),
    };
  };

  const outcomesOf = async (id: string): Promise<readonly string[]> => {
    let text = '';
    for (let number = -1; ;) {
      const portion = await readOutcomes(node.pool, id, number);
      if (portion === null) break;
      text += portion.outcomes;
      number = portion.number;
    }
    const rows = text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as ImportedRow);
    return rows.map(({ code, outcome }) => `${code ?? ''} ${outcome}`);
  };

  const importOf = async (id: string) => {
    const [found] = await readImports(node.pool, null, id);
    if (!found) throw new Error(`the import ${id} does not exist`);
    return found;
  };

  /** Creates links of another account. */
  const shorten = async (...codes: readonly string[]): Promise<void> => {
    const { pool, outbox, clock } = node;
    const handler = createShortenHandler({ pool, outbox, clock, generateCode: randomCode });
    const links = codes.map((code) => ({ code, custom: true }));
    await handler.shorten(shortenCommand(await newKey(node, 'PRO'), links));
  };

  it('assign each code once when two imports have the same codes', async () => {
    const codes = Array.from({ length: 100 }, (_, index) => `same-${index}`);
    const first = csv(...codes.map((code) => row(code)));
    const second = csv(...codes.toReversed().map((code) => row(code, `${url}2`)));
    expect(await decideBoth([first, second])).to.deep.equal({ created: 100, failed: 100 });
  });

  it('add further codes that are free, and tell which ones are left out', async () => {
    await shorten('taken-code');
    const line = (...cells: readonly string[]): string => cells.join();
    const id = await receive(
      [
        'code,url,codes',
        line('first', url, '"second,taken-code,gone.example/third,second,!"'),
        line('second', url, ''),
        line('other', `${url}2`, '"first,other,fourth"'),
        '',
      ].join('\n'),
    );
    await decideNext();
    expect(await outcomesOf(id)).to.deep.equal([
      'first created',
      'second conflict',
      'other created',
    ]);
    const events = named('LinkCodeAdded', await node.events('links'));
    expect(events.map(({ subject, data }) => [subject, data.code])).to.have.deep.members([
      ['first', 'second'],
      ['other', 'fourth'],
    ]);
    const { rows } = await node.pool.query(
      'SELECT subject, code_of FROM ledger.links WHERE code_of IS NOT NULL ORDER BY subject',
    );
    expect(rows).to.deep.equal([
      { subject: 'fourth', code_of: 'other' },
      { subject: 'second', code_of: 'first' },
    ]);
  });

  it('are decided again when another transaction has created a link', async () => {
    const id = await receive(csv(row('raced'), row('not-raced')));
    const owner = newId();
    const running = await lease(owner);
    const client = await other.pool.connect();
    try {
      await client.query('BEGIN');
      // A link that the first attempt does not see. It waits for the end of this transaction.
      await client.query(
        `INSERT INTO ledger.links (subject, key_id, account, created_at, starts_at, expires_at, max_clicks,
           edited, sequence, last_event_at)
         VALUES ('raced', 'key-1', 'other', now(), NULL, NULL, NULL, NULL, 1, now())`,
      );
      const decided = decide(running, owner);
      await waitForLockWaits(other);
      await client.query('COMMIT');
      await decided;
    } finally {
      client.release();
    }
    expect(await outcomesOf(id)).to.deep.equal(['raced conflict', 'not-raced created']);
    await node.pool.query("DELETE FROM ledger.links WHERE subject = 'raced'");
  });

  it('change nothing after the lease was lost or the import was stopped', async () => {
    const id = await receive(csv(row('leased')));
    const [first, second] = [newId(), newId()];
    const running = await lease(first);
    await node.pool.query("UPDATE imports.imports SET leased_until = '-infinity'");
    const again = await lease(second, other);
    const rows = await readRows(again);
    expect(await rejection(decide(running, first))).to.be.instanceOf(ImportLeaseLost);
    await decide(again, second, other);
    const repeated = decidePortion({ ...other, owner: second }, again, null, rows);
    expect(await rejection(repeated)).to.be.instanceOf(ImportLeaseLost);
    expect(await importOf(id)).to.include({ created: 1, rows: 1 });

    const stopped = await receive(csv(row('stopped')));
    await endImport(node.pool, id, 'done', null);
    const leased = await lease(first);
    await endImport(node.pool, stopped, 'stopped', null);
    expect(await rejection(decide(leased, first))).to.be.instanceOf(ImportLeaseLost);
    await endImport(node.pool, stopped, 'failed', 'an ended import does not change');
    expect(await importOf(stopped)).to.include({ status: 'stopped', rows: 0, error: null });
  });

  it('are leased alternately', async () => {
    const file = csv(...Array.from({ length: 1_001 }, (_, index) => row(`fair-${index}`)));
    const ids = [await receive(file), await receive(file), await receive(csv(row('fair-last')))];
    const owner = newId();
    const leased: string[] = [];
    for (let portion = 0; portion < 6; portion += 1) {
      const running = await decideNext(owner);
      leased.push(running.id);
      if (running.position + 1 === running.portions) {
        await endImport(node.pool, running.id, 'done', null);
      }
    }
    expect(leased).to.deep.equal([...ids, ...ids.slice(0, 2), ids[0]]);
    expect((await importOf(ids[0] ?? '')).created).to.equal(1_001);
    const { rows } = await node.pool.query('SELECT FROM imports.portions');
    expect(rows, 'portions that are not decided').to.have.length(1);
  });

  it('number codes that links, rows before, or their suffixes have', async () => {
    await shorten('a', 'a-2', 'b-2-2');
    const codes = ['a', 'b', 'b', 'b-2', 'a-3', 'b'];
    const rows = codes.map((code, index) => row(code, `${url}${index}`));
    const id = await receive(csv(...rows), { onConflict: 'suffix' });
    await decideNext();
    expect(await outcomesOf(id)).to.deep.equal([
      ...['a-3 created', 'b created', 'b-2 created', 'b-2-3 created', 'a-3-2 created'],
      'b-3 created',
    ]);
  });

  it('list 100,000 rows that created nothing, and count the rest', async () => {
    for (const [name, changes, listed] of [
      ['list-a', {}, ['list-a created', 'list-a conflict', 'list-a conflict', 'list-ab created']],
      ['list-b', { dryRun: true }, ['list-b created', 'list-b conflict']],
    ] as const) {
      const taken = [1, 2, 3].map((number) => row(name, `${url}${number}`));
      const rows = [row(name), ...taken, row(`${name}b`)];
      const id = await receive(csv(...rows), changes);
      await node.pool.query('UPDATE imports.imports SET failed = 99998 WHERE id = $1', [id]);
      await decideNext();
      expect(await outcomesOf(id)).to.deep.equal(listed);
      await endImport(node.pool, id, 'done', null);
    }
  });

  it('decide like the check before them, across portions', async () => {
    await shorten('taken', 'taken-2');
    const imported = async () => named('LinkImported', await node.events('links')).length;
    const before = await imported();
    const rows = Array.from({ length: 600 }, (_, index) => row(`check-${index}`));
    const file = csv(
      ...[row('taken'), row('check-599', `${url}2`), ...rows, row('taken', `${url}3`)],
      row('taken-3'),
    );
    const id = await receive(file, { onConflict: 'suffix', dryRun: true });
    const owner = newId();
    for (let portion = 0; portion < 2; portion += 1) await decideNext(owner);
    const checked = await outcomesOf(id);
    expect(await importOf(id)).to.include({ created: 603, existing: 1, failed: 0 });
    expect(await imported()).to.equal(before);
    await startPhase(node.pool, { id, phase: 'check' }, 'links', owner);
    expect(await importOf(id)).to.include({ rows: 0, created: 0 });
    const again = await receive(file, { onConflict: 'suffix' });
    await endImport(node.pool, id, 'done', null);
    for (let portion = 0; portion < 2; portion += 1) await decideNext(owner);
    expect(await outcomesOf(again)).to.deep.equal(checked);
  });

  it('spend the links of the month exactly, on both nodes', async () => {
    const { id: rootId } = await newKey(node, 'FREE');
    const key = { rootId, linkLimit: 35 };
    const file = (name: string): string =>
      csv(...Array.from({ length: 30 }, (_, index) => row(`${name}-${index}`)));
    const totals = await decideBoth([file('x'), file('y')], key);
    expect(totals).to.deep.equal({ created: 35, failed: 25 });
  });
});

describe('imports: received files', () => {
  const database = databaseFixture('uploads');
  const [node] = twoLedgersFixture(database);

  beforeEach(() => node.pool.query('TRUNCATE imports.imports CASCADE'));

  const owner = { account: 'acme', keyId: 'key-1', actor: 'key-1', requestId: 'request-1' };
  const upload = (
    chunks: AsyncIterable<Uint8Array>,
    { maxBytes = 1_000_000, visits = false } = {},
    ...limits: readonly [maxRows?: number]
  ): Promise<string> =>
    receiveFile(
      node.pool,
      createLogger('silent'),
      { ...owner, maxBytes, query: { ...query, visits }, chunks },
      ...limits,
    );

  const unfinished = (): Promise<number> => countUnfinished(node.pool, 'acme');
  const endLeases = () => node.pool.query("UPDATE imports.imports SET leased_until = '-infinity'");

  const storedRows = async (): Promise<number> => {
    const { rows } = await node.pool.query<{ count: number }>(
      'SELECT (SELECT count(*) FROM imports.imports) + (SELECT count(*) FROM imports.portions) AS count',
    );
    return rows[0]?.count ?? 0;
  };

  const large = csv(...Array.from({ length: 3_000 }, (_, index) => row(`large-${index}`)));

  it('are stored in portions of 500 records, and running when they are complete', async () => {
    let countDuring = 0;
    const id = await upload(
      (async function* () {
        yield Buffer.from(large);
        countDuring = await unfinished();
        expect(await readImports(node.pool, 'acme')).to.be.empty;
        expect(await leaseImport(node.pool, newId())).to.equal(null);
      })(),
    );
    expect([countDuring, await unfinished()]).to.deep.equal([1, 1]);
    const running = await leaseImport(node.pool, newId());
    expect(running).to.include({ id, portions: 6, position: 0, phase: 'links' });
    expect(await readPortion(node.pool, id, 5)).to.have.length(500);
    expect(await rejection(readPortion(node.pool, id, 6))).to.be.an('error');
  });

  it('leave nothing if they are too large, malformed, or not sent completely', async () => {
    const interrupted = (async function* () {
      yield Buffer.from(large);
      await nextIteration();
      throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
    })();
    expect(await rejection(upload(interrupted))).to.include({ code: 'ECONNRESET' });
    const oversized = await rejection(upload(toAsync([Buffer.from(large)]), { maxBytes: 90_000 }));
    expect(oversized).to.be.instanceOf(ImportTooLarge);
    const unknown = await rejection(upload(toAsync([Buffer.from('nothing')])));
    expect(unknown).to.be.instanceOf(ImportFileFault);
    expect(await storedRows()).to.equal(0);
  });

  it('have 100,000 invalid rows at most; others are only counted', async () => {
    const count = 100_700;
    const id = await upload(toAsync([Buffer.from(csv('x\n'.repeat(count), row('valid')))]));
    const { rows } = await node.pool.query<{ portions: number; bytes: number }>(
      'SELECT count(*) AS portions, sum(length(records)) AS bytes FROM imports.portions WHERE import = $1',
      [id],
    );
    expect(rows[0]?.portions).to.equal(201);
    expect(rows[0]?.bytes).to.be.below(120 * count);
    const [found] = await readImports(node.pool, 'acme', id);
    expect(found).to.include({ failed: 700, rows: 700 });
  });

  it('end with an invalid row after the most rows', async () => {
    const file = Buffer.from(csv('code-1,b', 'code-2,b', 'code-3,b'));
    const id = await upload(toAsync([file]), {}, 2);
    expect((await readPortion(node.pool, id, 0)).at(-1)).to.deep.equal({
      ...{ type: 'invalid', row: 5, code: null, url: null },
      message: 'The file has more than 2 rows.',
    });
  });

  it('have the names of the columns that are not imported', async () => {
    const id = await upload(toAsync([Buffer.from(`code,url,Owner,rules,N\0\na,${url},me,[]\n`)]));
    const [found] = await readImports(node.pool, 'acme', id);
    expect(found?.ignoredColumns).to.deep.equal(['Owner', 'N?']);
    const [record] = await readPortion(node.pool, id, 0);
    expect(record).to.deep.equal(linkRecord(2, { code: 'a', url }));
  });

  it('are deleted when an account has more than 1 GiB of outcomes, the oldest first', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 3; index += 1) {
      const id = await upload(toAsync([Buffer.from(csv(row('old')))]));
      await endImport(node.pool, id, 'done', null);
      ids.push(id);
    }
    await node.pool.query('UPDATE imports.imports SET bytes = 5e8');
    expect(await deleteOldImports(node.pool)).to.equal(1);
    const left = (await readImports(node.pool, 'acme')).map(({ id }) => id);
    expect(left).to.deep.equal(ids.slice(1).toReversed());
  });

  it('let other work run between their chunks', async () => {
    let [iterations, isReceived] = [0, false];
    const countIterations = async (): Promise<void> => {
      while (!isReceived) {
        await nextIteration();
        iterations += 1;
      }
    };
    // 2 MB of text in one chunk of 2 KB.
    const file = gzipSync(csv(row('inflated')).padEnd(2_000_000, '\n'));
    const counted = countIterations();
    await upload(toAsync([file]));
    isReceived = true;
    await counted;
    expect(iterations).to.be.above(25);
  });

  it('are deleted 30 days after their import, or when their upload stops', async () => {
    const id = await upload(toAsync([Buffer.from(csv(row('old')))]));
    await endImport(node.pool, id, 'done', null);
    expect(await deleteOldImports(node.pool)).to.equal(0);
    while ((await cleanUpImports(node.pool)) > 0);
    expect(await rejection(readPortion(node.pool, id, 0))).to.be.an('error');
    expect(await readImports(node.pool, 'acme')).to.have.length(1);
    for (const [age, deleted] of [
      ['29 days 23 hours', 0],
      ['30 days 1 hour', 1],
    ] as const) {
      await node.pool.query('UPDATE imports.imports SET ended_at = now() - $1::interval', [age]);
      expect(await deleteOldImports(node.pool)).to.equal(deleted);
    }
    expect(await storedRows()).to.equal(0);
    await upload(toAsync([Buffer.from(csv(row('stalled')))]));
    await node.pool.query(
      "UPDATE imports.imports SET status = 'receiving', leased_until = now() - interval '1 second'",
    );
    expect(await deleteOldImports(node.pool)).to.equal(1);
  });

  it('do not count towards the limit after the kill of their process', async () => {
    const options = { domain: null, onConflict: 'skip', dryRun: false, visits: false } as const;
    await insertImport(node.pool, { ...owner, id: newId(), format: 'csv', options });
    expect(await unfinished()).to.equal(1);
    await endLeases();
    expect(await unfinished()).to.equal(0);
  });

  it('have a lease that is renewed while they arrive slowly', async () => {
    async function* slowly(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(`code,url\n${'a,https://example.com/\n'.repeat(5_000)}`);
      await eventually('the upload has started', async () => (await unfinished()) === 1);
      await endLeases();
      await eventually('the upload has a lease', async () => (await unfinished()) === 1);
      yield Buffer.from('b,https://example.com/\n');
    }
    await upload(slowly());
    expect(await unfinished()).to.equal(1);
  });

  it('store a click with a code that PostgreSQL cannot index as an invalid row', async () => {
    const codes = ['a', 'a\\0b', 'a'.repeat(501), Array.from({ length: 9_999 }, newId).join('')];
    const rows = codes.map((code) => `('2024-01-01 00:00:00','${code}')`);
    const sql = `INSERT INTO yourls_log (click_time, shorturl) VALUES\n${rows.join(',\n')};\n`;
    const id = await upload(toAsync([Buffer.from(sql)]), { visits: true });
    const records = await readPortion(node.pool, id, 0);
    expect(records.map(({ row: number }) => number)).to.deep.equal([3, 4, 5]);
    const stored = 'SELECT code FROM imports.visits WHERE import = $1';
    expect((await node.pool.query(stored, [id])).rows).to.deep.equal([{ code: 'a' }]);
  });
});
