import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { emptyDatabase } from '../test/support/database.js';
import { isLinkEvent } from '../../schemas/events/catalogue.js';
import {
  evolveLedgerLink,
  initialState,
  type LedgerLinkEvent,
  type LedgerLinkState,
} from '../../schemas/folds/ledger-link.js';
import { evolveLink, type LinkState } from '../../schemas/folds/link.js';
import { rowOfState } from '../../schemas/read-models/redirects.js';
import {
  at,
  blocked,
  created,
  edited,
  recordOf,
  spooledVisit,
  visited,
} from '../../schemas/testing/events.js';
import { lockLinks } from '../ledger/links.js';
import { missingEvents } from '../../projectors/main.js';
import { createBatchHandler } from '../../projectors/runtime/batch.js';
import { watchSpools } from '../../projectors/runtime/missing-visits.js';
import { stats } from '../../projectors/statistics/projection.js';
import { feed, namedLog } from '../../projectors/testing/harness.js';
import { createLogger } from '../platform/logging.js';
import { topics } from '../../schemas/events/topics.js';
import { withoutSecrets } from '../../schemas/events/redact.js';
import { rebuildDue } from '../../schemas/read-models/rebuild-due.js';
import { rowOfEvent, type PositionedHistoryRow } from '../../schemas/read-models/history.js';
import { projectFile } from '../platform/files/project-file.js';
import { migrate } from './migrate.js';
import { deferred } from '../platform/concurrency/deferred.js';
import { generation } from '../platform/postgres/generation.js';
import { createPool, transaction } from '../platform/postgres/pool.js';
import { fixture } from '../test/support/fixture.js';
import { collectLogLines } from '../test/support/log-lines.js';
import { eventually, rejection } from '../test/support/waiting.js';

const metadata = {
  account: 'acme',
  actor: 'key-1',
  correlationId: 'a-request',
  causationId: 'a-cause',
};

const links = topics.links.name;
const visits = topics.visits.name;

describe('migrations of tables with rows', () => {
  const database = fixture(
    () => emptyDatabase('upgrade'),
    (database) => database.drop(),
    { per: 'test' },
  );

  /** Runs the migrations before `number`. */
  const migrateUpTo = async (number: string): Promise<void> => {
    const { pool } = database;
    await pool.query(`CREATE TABLE public.migrations (
      file text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`);
    const folder = projectFile('ops/migrations');
    const files = readdirSync(folder).filter((file) => /^\d{4}_.*\.sql$/.test(file));
    for (const file of files.sort().filter((name) => name < number)) {
      await pool.query(readFileSync(`${folder}/${file}`, 'utf8'));
      await pool.query('INSERT INTO public.migrations (file) VALUES ($1)', [file]);
    }
  };

  const rebuildsDue = async (): Promise<readonly string[]> => {
    const { rows } = await database.pool.query<{ name: string }>(
      `SELECT nspname AS name FROM pg_namespace
       WHERE obj_description(oid, 'pg_namespace') = $1 ORDER BY name`,
      [rebuildDue],
    );
    return rows.map(({ name }) => name);
  };

  it('keep high-water marks of links only for dead letters and parked events', async () => {
    await migrateUpTo('0013');
    const { pool } = database;
    await pool.query(`UPDATE log.identity SET log_name = 'kafka:some-cluster:linklog'`);
    for (const name of ['redirects', 'stats', 'history', 'quotas']) {
      await pool.query(
        `INSERT INTO projection_${name}.high_water_marks VALUES
         ('${links}', 0, 'whole', 3), ('${links}', 0, 'parked', 2), ('${links}', 0, 'broken', 1),
         ('${visits}', 0, '/linklog/spool/s', 9)`,
      );
      const records = [created('parked'), blocked('parked', 2)].map(
        (event) => recordOf(event).value,
      );
      await pool.query(
        `INSERT INTO projection_${name}.dead_letters VALUES
         ('${links}', 0, 1, 'parked', $1, 'a reason'), ('${links}', 0, 2, 'parked', $2, null),
         ('${links}', 0, 3, 'broken', '{', 'not JSON')`,
        records,
      );
    }
    await pool.query(
      `CREATE SCHEMA projection_stats_previous; CREATE TABLE projection_stats_previous.a ()`,
    );
    await migrate(pool);
    const marks = async (name: string): Promise<readonly string[]> => {
      const { rows } = await pool.query<{ mark: string }>(
        `SELECT concat_ws(' ', origin, sequence, CASE WHEN raised_on IS NOT NULL THEN 'dated' END) AS mark FROM projection_${name}.high_water_marks ORDER BY 1`,
      );
      return rows.map(({ mark }) => mark);
    };
    for (const name of ['redirects', 'history']) {
      expect(await marks(name), name).to.deep.equal(['/linklog/spool/s 9 dated', 'parked 2']);
    }
    // The statistics do not read that topic any more.
    expect(await marks('stats')).to.deep.equal(['/linklog/spool/s 9 dated']);
    expect(await marks('quotas')).to.have.length(4);
    const { rows } = await pool.query(
      `SELECT to_regnamespace('projection_stats_previous') AS left`,
    );
    expect(rows).to.deep.equal([{ left: null }]);
  });

  for (const [log, left] of [
    ['postgres', ['/linklog/spool/s']],
    // Of a version without log names.
    [null, ['/linklog/spool/s']],
    ['kafka:some-cluster:linklog', ['/linklog/spool/s', 'a']],
  ] as const) {
    it(`keep the marks ${left.join(' and ')} of the log ${log ?? 'without a name'}`, async () => {
      await migrateUpTo('0050');
      const { pool } = database;
      await pool.query('UPDATE log.identity SET log_name = $1', [log]);
      await pool.query(
        `INSERT INTO projection_quotas.high_water_marks VALUES
         ('${links}', 0, 'a', 1, null), ('${visits}', 0, '/linklog/spool/s', 9, '2026-05-20')`,
      );
      await migrate(pool);
      const { rows } = await pool.query<{ origin: string }>(
        'SELECT origin FROM projection_quotas.high_water_marks ORDER BY origin',
      );
      expect(rows.map(({ origin }) => origin)).to.deep.equal(left);
    });
  }

  it('add the scopes of existing keys, and keep their secrets', async () => {
    await migrateUpTo('0033');
    const { pool } = database;
    const states = ['active', 'inactive', 'revoked'];
    for (const status of states) {
      await pool.query(
        `INSERT INTO ledger.api_keys VALUES ($1::text, sha256($1::text::bytea), 'name', 'PRO', 'acme', $1::text, now(), 1, now())`,
        [status],
      );
    }
    await migrate(pool);
    const { rows } = await pool.query(
      `SELECT id, root_id, status, scopes, ancestors, s.ends_at, s.hash = sha256(id::bytea) AS same
       FROM ledger.api_keys JOIN ledger.key_secrets s ON key_id = id ORDER BY id`,
    );
    const scopes = ['links:create', 'stats:read', 'qr:read'];
    const statuses = ['active', 'suspended', 'revoked'];
    expect(rows).to.deep.equal(
      states.map((id, index) => ({
        ...{ id, root_id: id, status: statuses[index], scopes, ancestors: [], ends_at: null },
        same: true,
      })),
    );
  });

  it('move the events of the history into columns', async () => {
    await migrateUpTo('0015');
    const { pool } = database;
    const events = [
      created(
        'a',
        { url: 'https://example.com/?q=\u0000,"data":{"é"}', passwordHash: 'secret' },
        metadata,
      ),
      blocked('a', 2),
    ];
    for (const event of events) {
      await pool.query('INSERT INTO projection_history.events VALUES ($1, $2, $3)', [
        ...[event.subject, event.sequence, JSON.stringify(withoutSecrets(event))],
      ]);
    }
    await migrate(pool);
    const { rows } = await pool.query<PositionedHistoryRow>(
      'SELECT * FROM projection_history.events ORDER BY sequence',
    );
    // The rebuild sets the offsets.
    const offset = { partition: -1, record_offset: -1 };
    expect(rows).to.deep.equal(events.map((event) => ({ ...rowOfEvent(event), ...offset })));
  });

  it('count the links of each key', async () => {
    await migrateUpTo('0029');
    const { pool } = database;
    await pool.query(
      `INSERT INTO ledger.api_keys (id, hash, name, plan, account, status, created_at, sequence, last_event_at)
       SELECT id, sha256(id::bytea), id, 'PRO', 'acme', 'active', now(), 1, now()
       FROM unnest('{two-links,no-links}'::text[]) id`,
    );
    await pool.query(`INSERT INTO ledger.key_meters (key_id) SELECT id FROM ledger.api_keys`);
    await pool.query(
      `INSERT INTO ledger.links (code, key_id, account, sequence, last_event_at)
       VALUES ('a', 'two-links', 'acme', 1, now()), ('b', 'two-links', 'acme', 1, now())`,
    );
    await migrate(pool);
    const { rows } = await pool.query('SELECT key_id, all_links FROM ledger.key_meters ORDER BY 1');
    expect(rows).to.deep.equal([
      { key_id: 'no-links', all_links: 0 },
      { key_id: 'two-links', all_links: 2 },
    ]);
  });

  it('keep the number of clicks, and mark the statistics for a rebuild', async () => {
    await migrateUpTo('0028');
    const { pool } = database;
    await pool.query(
      `INSERT INTO projection_stats.clicks VALUES
         ('abc', 3, 1, '2026-05-20T12:00:00Z'), ('bots', 0, 2, NULL);
       INSERT INTO projection_stats.checkpoints VALUES ('${visits}', 0, 'a-log', 6)`,
    );
    await migrate(pool);
    const { rows } = await pool.query(
      `SELECT subject, clicks, bots, last_accessed FROM projection_stats.links ORDER BY subject`,
    );
    expect(rows).to.deep.equal([
      { subject: 'abc', clicks: 3, bots: 1, last_accessed: new Date('2026-05-20T12:00:00Z') },
      { subject: 'bots', clicks: 0, bots: 2, last_accessed: null },
    ]);
    expect(await rebuildsDue()).to.deep.equal(['projection_stats']);
    const handle = createBatchHandler({
      ...{ pool, projection: stats, log: namedLog('a-log'), logger: createLogger('silent') },
    });
    await pool.query(`UPDATE projection_stats.checkpoints SET log_id = 'a-log:${visits}'`);
    const record = { ...recordOf(spooledVisit('abc', { time: at(1) })), offset: 6 };
    await handle({ topic: visits, partition: 0, records: [record] });
    const { rows: now } = await pool.query(
      `SELECT clicks, bots, last_accessed FROM projection_stats.links WHERE subject = 'abc'`,
    );
    expect(now).to.deep.equal([{ clicks: 4, bots: 1, last_accessed: at(1) }]);
  });

  it('sort links by their clicks, also after more visits', async () => {
    await migrateUpTo('0052');
    const { pool } = database;
    await pool.query(
      `INSERT INTO projection_stats.codes
         (code, account, clicks, bots, day, uniques, series, document)
       VALUES ('abc', 'acme', 40, 1, 20000, 0, '[0,40,1]', '[[],[],[],[],[],[],[]]'),
              ('bots', 'acme', 0, 2, 20000, 0, '[0,0,2]', '[[],[],[],[],[],[],[]]')`,
    );
    await migrate(pool);
    const clicks = async (): Promise<readonly unknown[]> => {
      const { rows } = await pool.query<Record<string, unknown>>(
        'TABLE projection_stats.links_by_clicks ORDER BY clicks',
      );
      return rows;
    };
    expect(await clicks()).to.deep.equal([{ account: 'acme', clicks: 40, subject: 'abc' }]);
    const events = ['abc', 'bots', 'abc'].map((code, index) =>
      recordOf(spooledVisit(code, { sequence: index + 1, account: 'acme' })),
    );
    await feed(pool, stats).records(visits, events);
    expect(await clicks()).to.deep.equal([
      { account: 'acme', clicks: 1, subject: 'bots' },
      { account: 'acme', clicks: 42, subject: 'abc' },
    ]);
  });

  it('mark the redirects of an existing log for a rebuild', async () => {
    await migrateUpTo('0038');
    const { pool } = database;
    await pool.query(
      `INSERT INTO projection_redirects.checkpoints VALUES ('${links}', 0, 'a-log', 6)`,
    );
    await migrate(pool);
    expect(await rebuildsDue()).to.deep.equal(['projection_redirects']);
  });

  it('mark a history with first versions of LinkCreated for a rebuild', async () => {
    await migrateUpTo('0049');
    const { pool } = database;
    await pool.query(
      `INSERT INTO projection_history.events (code, sequence, time, id, type, data)
       VALUES ('abc', 1, now(), gen_random_uuid(), 'linklog.LinkCreated.v1', '{}')`,
    );
    await migrate(pool);
    expect(await rebuildsDue()).to.deep.equal(['projection_history']);
  });

  it('initialize the counts of spools from their high-water marks', async () => {
    await migrateUpTo('0054');
    const { pool } = database;
    const source = '/linklog/spool/spool-1';
    await pool.query(
      `INSERT INTO projection_stats.high_water_marks VALUES
         ('${visits}', 0, '${source}', 90, '2026-05-20'),
         ('${visits}', 1, '${source}', 100, '2026-05-20')`,
    );
    await migrate(pool);
    const logger = createLogger('silent');
    const ends = { ranges: () => Promise.resolve([{ partition: 0, first: 0, next: 1 }]) };
    let now = 0;
    const watch = watchSpools({ pool, log: ends, logger, now: () => now });
    const missing = async (): Promise<unknown> => {
      await watch();
      now += 60_000;
      await watch();
      return missingEvents(pool);
    };
    const statistics = feed(pool, stats);
    await statistics.records(visits, [recordOf(spooledVisit('abc', { sequence: 101 }))]);
    expect(await missing()).to.deep.equal([]);
    await statistics.records(visits, [recordOf(spooledVisit('abc', { sequence: 104 }))]);
    expect(await missing()).to.deep.equal([{ origin: 'spool', topic: visits, events: 2 }]);
  });

  for (const [title, codes, due] of [
    ['fold the texts of links', [], []],
    [
      'mark redirects with other than ASCII characters for a rebuild',
      ['Große'],
      ['projection_redirects'],
    ],
  ] as const) {
    it(title, async () => {
      await migrateUpTo('0055');
      const { pool } = database;
      await pool.query(
        `INSERT INTO projection_redirects.links (code, status, url, account, created_at, sequence, title, note, tags)
         SELECT code, 'active', 'https://Example.com/' || code, 'acme', now(), 1, 'A Title', '', '["B", "a", "b"]'
         FROM unnest($1::text[]) AS code`,
        [['Abc', ...codes]],
      );
      await pool.query(
        `INSERT INTO projection_redirects.link_tags (account, tag, created_at, code)
         SELECT account, jsonb_array_elements_text(tags), created_at, code
         FROM projection_redirects.links WHERE code = 'Abc'`,
      );
      await migrate(pool);
      const { rows } = await pool.query(
        `SELECT folded FROM projection_redirects.links WHERE subject = 'Abc'`,
      );
      expect(rows).to.deep.equal([{ folded: 'abc\nhttps://example.com/abc\na title\nb\na\nb' }]);
      const { rows: tags } = await pool.query<{ tag: string }>(
        'SELECT tag FROM projection_redirects.link_tags ORDER BY tag',
      );
      expect(tags.map(({ tag }) => tag)).to.deep.equal(['a', 'b']);
      expect(await rebuildsDue()).to.deep.equal(due);
    });
  }

  it('add the reuse key and the visit sequence of links like the fold', async () => {
    await migrateUpTo('0058');
    const { pool } = database;
    const [alias, plain, moved] = [
      created('alias', { custom: true, url: 'https://example.com/ü' }, { account: 'acme' }),
      created('plain', { url: 'https://example.com/ü', maxClicks: 5 }, { account: 'acme' }),
      created('moved', {}, { account: 'acme' }),
    ];
    const edit = edited('moved', 2, { url: 'https://example.net/"\\' }, { time: at(5) });
    const histories: readonly (readonly LedgerLinkEvent[])[] = [
      [alias],
      [plain, visited('plain', 1), visited('plain', 2)],
      [moved, edit],
    ];
    const folded = histories.map((history) =>
      history.reduce<LedgerLinkState>(evolveLedgerLink, initialState),
    );
    for (const [index, ledger] of folded.entries()) {
      if (ledger.status === 'none') throw new Error('LinkCreated leaves the link without a code');
      const { subject, keyId, account, clicks, edited: edits, sequence, lastEventAt } = ledger;
      await pool.query(
        `INSERT INTO ledger.links (code, key_id, account, clicks, edited, sequence, last_event_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)`,
        [subject, keyId, account, clicks, edits, sequence, lastEventAt],
      );
      const events = (histories[index] ?? []).filter(isLinkEvent);
      const row = rowOfState(events.reduce<LinkState>(evolveLink, { status: 'none' }), sequence);
      await pool.query(
        `INSERT INTO projection_redirects.links
           (code, status, url, account, created_at, sequence, custom, original, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
        [
          ...[row?.subject, row?.status, row?.url, row?.account, row?.created_at, row?.sequence],
          ...[row?.custom, row?.original, row?.updated_at],
        ],
      );
    }
    await migrate(pool);
    const links = await lockLinks(pool, ['alias', 'plain', 'moved']);
    const upgraded = ['alias', 'plain', 'moved'].map((subject) => links.get(subject));
    const migratedFields = (link: LedgerLinkState | undefined) => {
      if (link?.status !== 'taken') return null;
      const { subject, createdAt, reuseKey, visitSequence } = link;
      return { subject, createdAt, reuseKey, visitSequence };
    };
    expect(upgraded.map(migratedFields)).to.deep.equal(folded.map(migratedFields));
  });

  it('keep the rows of links under the names of their subjects', async () => {
    await migrateUpTo('0061');
    const { pool } = database;
    const document = `'[[],[],[],[],[],[],[]]'`;
    // A table, its columns with the former names, and values without those of `code`.
    const tables: readonly (readonly [string, string, string])[] = [
      [
        'ledger.links',
        'key_id, account, sequence, last_event_at, created_at',
        `'k', 'acme', 1, now(), now()`,
      ],
      [
        'ledger.password_tries',
        'client, checking, checking_until, touched_at',
        `'c', 1, now(), now()`,
      ],
      [
        'projection_redirects.links',
        'status, url, account, created_at, sequence, title',
        `'active', 'https://example.com', 'acme', now(), 1, 'A title'`,
      ],
      ['projection_redirects.link_tags', 'account, tag, created_at', `'acme', 'a tag', now()`],
      [
        'projection_history.events',
        'sequence, time, id, type, data',
        `1, now(), gen_random_uuid(), 'linklog.LinkCreated.v4', '{}'`,
      ],
      [
        'projection_stats.codes',
        'account, clicks, bots, day, uniques, series, document',
        `'acme', 40, 1, 20000, 3, '[0,40,1]', ${document}`,
      ],
      ['projection_stats.links_by_clicks', 'account, clicks', `'acme', 40`],
      [
        'projection_stats.days',
        'day, account, clicks, bots, uniques, series, document',
        `20000, 'acme', 40, 1, 3, '[0,40,1]', ${document}`,
      ],
      ['projection_stats.quarters', 'day, quarter, document', `20000, 3, ${document}`],
      [
        'projection_stats.months',
        'month, clicks, bots, uniques, document',
        `600, 40, 1, 3, ${document}`,
      ],
      ['projection_stats.visitors', 'day, visitor', `20000, 'abc'`],
    ];
    for (const [table, columns, values] of tables) {
      await pool.query(`INSERT INTO ${table} (code, ${columns}) VALUES ('Abc', ${values})`);
    }
    await pool.query(
      `INSERT INTO ledger.idempotency (key_id, path, idempotency_key, body_hash, status, answer, codes, created_at)
       VALUES ('k', '/v2/shorten', 'i', 'h', 201, '{}', '{Abc}', now());
       INSERT INTO ledger.safety_scans (name, due_at, past_code) VALUES ('a scan', now(), 'Abc');
       CREATE SCHEMA projection_stats_previous; CREATE TABLE projection_stats_previous.a ()`,
    );
    const rowsOf = async (table: string): Promise<readonly object[]> => {
      const { rows } = await pool.query<{ row: object }>(
        `SELECT to_jsonb(t) AS row FROM ${table} t`,
      );
      return rows.map(({ row }) => row);
    };
    const renamed: Readonly<Record<string, string>> = {
      ...{ code: 'subject', codes: 'subjects', past_code: 'past_subject' },
    };
    const subjectsIn = (row: object): object =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [renamed[name] ?? name, value]),
      );
    /** Columns that later migrations add. */
    const added: Readonly<Record<string, object>> = {
      'projection_history.events': { partition: -1, record_offset: -1, traceparent: null },
      'projection_stats.links': { opening: null },
    };
    const names = [...tables.map(([table]) => table), 'ledger.idempotency', 'ledger.safety_scans'];
    const before = await Promise.all(names.map(rowsOf));
    await migrate(pool);
    for (const [index, name] of names.entries()) {
      const table = name === 'projection_stats.codes' ? 'projection_stats.links' : name;
      const rows = await rowsOf(table);
      const [expected = {}] = before[index] ?? [];
      expect(rows, table).to.have.lengthOf(before[index]?.length ?? 0);
      expect(rows, table).to.deep.include({ ...subjectsIn(expected), ...added[table] });
    }
    expect(await rebuildsDue()).to.deep.equal([]);
    const { rows: previous } = await pool.query(
      `SELECT to_regnamespace('projection_stats_previous') AS schema`,
    );
    expect(previous).to.deep.equal([{ schema: null }]);
    const links = await lockLinks(pool, ['Abc']);
    expect(links.get('Abc')).to.include({ status: 'taken', account: 'acme' });
    // A visit continues the statistics.
    await feed(pool, stats).records(visits, [
      recordOf(spooledVisit('Abc', { sequence: 1, account: 'acme' })),
    ]);
    const { rows: clicks } = await pool.query(
      `SELECT clicks FROM projection_stats.links WHERE subject = 'Abc'`,
    );
    expect(clicks).to.deep.equal([{ clicks: 41 }]);
  });

  it('give later scopes to keys that were never restricted', async () => {
    await migrateUpTo('0061');
    const { pool } = database;
    const six = 'links:create,links:read,links:write,stats:read,qr:read,keys:manage';
    const restricted = ['links:create,stats:read,qr:read', six.split(',').slice(1).join(), ''];
    const scopes = [six, six.split(',').reverse().join(), ...restricted];
    for (const [index, list] of scopes.entries()) {
      await pool.query(
        `INSERT INTO ledger.api_keys
           (id, name, plan, account, status, created_at, sequence, last_event_at, scopes, ancestors)
         VALUES ($1, 'name', 'PRO', 'acme', 'active', now(), 1, now(), $2, '{}')`,
        [`key-${index}`, `{${list}}`],
      );
    }
    await migrate(pool);
    const { rows } = await pool.query<{ scopes: readonly string[] | null }>(
      'SELECT scopes FROM ledger.api_keys ORDER BY id',
    );
    expect(rows.map((row) => row.scopes?.join() ?? null)).to.deep.equal([
      null,
      null,
      ...restricted,
    ]);
  });

  it('mark a history without offsets for a rebuild, and drop its previous version', async () => {
    await migrateUpTo('0062');
    const { pool } = database;
    await pool.query(
      `INSERT INTO projection_history.checkpoints (topic, partition, next_offset, log_id)
       VALUES ('${links}', 0, 0, 'a log')`,
    );
    await pool.query(
      `CREATE SCHEMA projection_history_previous; CREATE TABLE projection_history_previous.a ()`,
    );
    await migrate(pool);
    expect(await rebuildsDue()).to.deep.equal(['projection_history']);
    const { rows } = await pool.query(
      `SELECT to_regnamespace('projection_history_previous') AS schema`,
    );
    expect(rows).to.deep.equal([{ schema: null }]);
  });

  it('continue after an interruption, with the generation raised from the first step on', async () => {
    await migrateUpTo('0059');
    const { pool } = database;
    // Conflicts with 0064.
    await pool.query('CREATE SCHEMA imports');
    const applied = async (): Promise<readonly string[]> => {
      const { rows } = await pool.query<{ file: string }>(
        `SELECT left(file, 4) AS file FROM public.migrations WHERE file > '0058_link_start.sql' ORDER BY 1`,
      );
      return rows.map(({ file }) => file);
    };
    expect(await rejection(migrate(pool))).to.include({ code: '42P06' });
    expect(await applied()).to.deep.equal(['0059', '0060', '0061', '0062', '0063']);
    const { rows } = await pool.query('SELECT generation FROM public.generation');
    expect(rows).to.deep.equal([{ generation }]);
    await pool.query('DROP SCHEMA imports');
    await migrate(pool);
    expect(await applied()).to.include('0064');
  });

  it('wait for the locks of running processes, which continue meanwhile', async () => {
    await migrateUpTo('0063');
    const { lines, logger } = collectLogLines();
    const pool = createPool({ url: database.url, name: 'migrate', max: 2, logger });
    const release = deferred();
    const locked = deferred();
    const running = transaction(database.pool, async (tx) => {
      await tx.query('LOCK TABLE projection_stats.links IN ROW EXCLUSIVE MODE');
      locked.resolve();
      await release.promise;
    });
    await locked.promise;
    const migrated = migrate(pool);
    await eventually('the step is repeated', () => lines.length > 0);
    await database.pool.query('DELETE FROM projection_stats.links WHERE false');
    release.resolve();
    await Promise.all([running, migrated]);
    expect(lines[0]).to.include({
      msg: 'a migration waits for the locks of running processes',
      step: '0063_opening_balances.sql',
    });
    await pool.end();
  });

  it('mark nothing for a rebuild in a new installation', async () => {
    await migrate(database.pool);
    expect(await rebuildsDue()).to.deep.equal([]);
  });
});
