import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { emptyDatabase } from '../test/support/database.js';
import { reuseKeyOf } from '../../schemas/folds/ledger-link.js';
import { at, blocked, created, recordOf, spooledVisit } from '../../schemas/testing/events.js';
import { lockLinks } from '../ledger/links.js';
import { missingEvents } from '../../projectors/main.js';
import { watchSpools } from '../../projectors/runtime/missing-visits.js';
import { stats } from '../../projectors/statistics/projection.js';
import { feed } from '../../projectors/testing/harness.js';
import { createLogger } from '../platform/logging.js';
import { topics } from '../../schemas/events/topics.js';
import { withoutSecrets } from '../../schemas/events/redact.js';
import { rebuildDue } from '../../schemas/read-models/rebuild-due.js';
import { rowOfEvent } from '../../schemas/read-models/history.js';
import { projectFile } from '../platform/files/project-file.js';
import { migrate } from './migrate.js';
import { deferred } from '../platform/concurrency/deferred.js';
import { generation } from '../platform/postgres/generation.js';
import { createPool, transaction } from '../platform/postgres/pool.js';
import { fixture } from '../test/support/fixture.js';
import { collectLogLines } from '../test/support/log-lines.js';
import { eventually, rejection } from '../test/support/waiting.js';

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

  const rowsOf = async (query: string, values: unknown[] = []): Promise<readonly unknown[]> =>
    (await database.pool.query<Record<string, unknown>>(query, values)).rows;

  /** Runs the migrations before `number`, a statement, and the other migrations. */
  const upgrade = async (number: string, statement: string): Promise<void> => {
    await migrateUpTo(number);
    await database.pool.query(statement);
    await migrate(database.pool);
  };

  const rebuildsDue = (): Promise<readonly unknown[]> =>
    rowsOf(
      `SELECT nspname AS name FROM pg_namespace
       WHERE obj_description(oid, 'pg_namespace') = $1 ORDER BY name`,
      [rebuildDue],
    );
  const isLeft = async (schema: string): Promise<boolean> =>
    (await rowsOf(`SELECT FROM pg_namespace WHERE nspname = $1`, [schema])).length > 0;

  it('keep high-water marks of links only for dead letters and parked events', async () => {
    const parked = [created('parked'), blocked('parked', 2)].map((event) => recordOf(event).value);
    await upgrade(
      '0013',
      ['redirects', 'stats', 'history', 'quotas']
        .map(
          (name) => `INSERT INTO projection_${name}.high_water_marks VALUES
             ('${links}', 0, 'whole', 3), ('${links}', 0, 'parked', 2), ('${links}', 0, 'broken', 1),
             ('${visits}', 0, '/linklog/spool/s', 9);
           INSERT INTO projection_${name}.dead_letters VALUES
             ('${links}', 0, 1, 'parked', '${parked[0] ?? ''}', 'a reason'),
             ('${links}', 0, 2, 'parked', '${parked[1] ?? ''}', null),
             ('${links}', 0, 3, 'broken', '{', 'not JSON');`,
        )
        .concat(
          `UPDATE log.identity SET log_name = 'kafka:some-cluster:linklog';
           CREATE SCHEMA projection_stats_previous; CREATE TABLE projection_stats_previous.a ()`,
        )
        .join(''),
    );
    const marks = (name: string) =>
      rowsOf(
        `SELECT concat_ws(' ', origin, sequence, CASE WHEN raised_on IS NOT NULL THEN 'dated' END) AS mark
         FROM projection_${name}.high_water_marks ORDER BY 1`,
      );
    const spool = { mark: '/linklog/spool/s 9 dated' };
    for (const name of ['redirects', 'history']) {
      expect(await marks(name), name).to.deep.equal([spool, { mark: 'parked 2' }]);
    }
    // The statistics do not read that topic any more.
    expect(await marks('stats')).to.deep.equal([spool]);
    expect(await marks('quotas')).to.have.length(4);
    expect(await isLeft('projection_stats_previous')).to.equal(false);
  });

  for (const [log, left] of [
    [`'postgres'`, ['/linklog/spool/s']],
    // Of a version without log names.
    ['NULL', ['/linklog/spool/s']],
    [`'kafka:some-cluster:linklog'`, ['/linklog/spool/s', 'a']],
  ] as const) {
    it(`keep the marks ${left.join(' and ')} of the log ${log}`, async () => {
      await upgrade(
        '0050',
        `UPDATE log.identity SET log_name = ${log};
         INSERT INTO projection_quotas.high_water_marks VALUES
           ('${links}', 0, 'a', 1, null), ('${visits}', 0, '/linklog/spool/s', 9, '2026-05-20')`,
      );
      expect(
        await rowsOf('SELECT origin FROM projection_quotas.high_water_marks ORDER BY origin'),
      ).to.deep.equal(left.map((origin) => ({ origin })));
    });
  }

  it('add the scopes of existing keys, and keep their secrets', async () => {
    await upgrade(
      '0033',
      `INSERT INTO ledger.api_keys
       SELECT status, sha256(status::bytea), 'name', 'PRO', 'acme', status, now(), 1, now()
       FROM unnest('{active,inactive,revoked}'::text[]) status`,
    );
    const scopes = ['links:create', 'stats:read', 'qr:read'];
    const common = { scopes, ancestors: [], ends_at: null, same: true };
    expect(
      await rowsOf(
        `SELECT root_id, status, scopes, ancestors, s.ends_at, s.hash = sha256(id::bytea) AS same
         FROM ledger.api_keys JOIN ledger.key_secrets s ON key_id = id ORDER BY id`,
      ),
    ).to.deep.equal([
      { root_id: 'active', status: 'active', ...common },
      { root_id: 'inactive', status: 'suspended', ...common },
      { root_id: 'revoked', status: 'revoked', ...common },
    ]);
  });

  it('move the events of the history into columns', async () => {
    await migrateUpTo('0015');
    const url = 'https://example.com/?q=\u0000,"data":{"é"}';
    const metadata = { account: 'acme', actor: 'key-1', correlationId: 'r', causationId: 'c' };
    const events = [created('a', { url, passwordHash: 'secret' }, metadata), blocked('a', 2)];
    for (const event of events) {
      await rowsOf('INSERT INTO projection_history.events VALUES ($1, $2, $3)', [
        ...[event.subject, event.sequence, JSON.stringify(withoutSecrets(event))],
      ]);
    }
    await migrate(database.pool);
    // The rebuild sets the offsets.
    const offset = { partition: -1, record_offset: -1 };
    expect(await rowsOf('SELECT * FROM projection_history.events ORDER BY sequence')).to.deep.equal(
      events.map((event) => ({ ...rowOfEvent(event), ...offset })),
    );
  });

  it('count the links of each key', async () => {
    await upgrade(
      '0029',
      `INSERT INTO ledger.api_keys (id, hash, name, plan, account, status, created_at, sequence, last_event_at)
       SELECT id, sha256(id::bytea), id, 'PRO', 'acme', 'active', now(), 1, now()
       FROM unnest('{two-links,no-links}'::text[]) id;
       INSERT INTO ledger.key_meters (key_id) SELECT id FROM ledger.api_keys;
       INSERT INTO ledger.links (code, key_id, account, sequence, last_event_at)
       VALUES ('a', 'two-links', 'acme', 1, now()), ('b', 'two-links', 'acme', 1, now())`,
    );
    expect(
      await rowsOf('SELECT key_id, all_links FROM ledger.key_meters ORDER BY 1'),
    ).to.deep.equal([
      { key_id: 'no-links', all_links: 0 },
      { key_id: 'two-links', all_links: 2 },
    ]);
  });

  it('keep the number of clicks, and mark the statistics for a rebuild', async () => {
    await upgrade(
      '0028',
      `INSERT INTO projection_stats.clicks VALUES
         ('abc', 3, 1, '2026-05-20T12:00:00Z'), ('bots', 0, 2, NULL);
       INSERT INTO projection_stats.checkpoints VALUES ('${visits}', 0, 'a-log', 6)`,
    );
    const rows = () =>
      rowsOf(`SELECT subject, clicks, bots, last_accessed FROM projection_stats.links ORDER BY 1`);
    const bots = { subject: 'bots', clicks: 0, bots: 2, last_accessed: null };
    expect(await rows()).to.deep.equal([
      { subject: 'abc', clicks: 3, bots: 1, last_accessed: at(0) },
      bots,
    ]);
    expect(await rebuildsDue()).to.deep.equal([{ name: 'projection_stats' }]);
    await rowsOf('DELETE FROM projection_stats.checkpoints');
    await feed(database.pool, stats).records(visits, [
      recordOf(spooledVisit('abc', { time: at(1) })),
    ]);
    expect(await rows()).to.deep.equal([
      { subject: 'abc', clicks: 4, bots: 1, last_accessed: at(1) },
      bots,
    ]);
  });

  it('sort links by their clicks, also after more visits', async () => {
    await upgrade(
      '0052',
      `INSERT INTO projection_stats.codes
         (code, account, clicks, bots, day, uniques, series, document)
       VALUES ('abc', 'acme', 40, 1, 20000, 0, '[0,40,1]', '[[],[],[],[],[],[],[]]'),
              ('bots', 'acme', 0, 2, 20000, 0, '[0,0,2]', '[[],[],[],[],[],[],[]]')`,
    );
    const clicks = () => rowsOf('TABLE projection_stats.links_by_clicks ORDER BY clicks');
    expect(await clicks()).to.deep.equal([{ account: 'acme', clicks: 40, subject: 'abc' }]);
    const events = ['abc', 'bots', 'abc'].map((code, index) =>
      recordOf(spooledVisit(code, { sequence: index + 1, account: 'acme' })),
    );
    await feed(database.pool, stats).records(visits, events);
    expect(await clicks()).to.deep.equal([
      { account: 'acme', clicks: 1, subject: 'bots' },
      { account: 'acme', clicks: 42, subject: 'abc' },
    ]);
  });

  for (const [what, number, statement, due] of [
    [
      'the redirects of an existing log',
      '0038',
      `INSERT INTO projection_redirects.checkpoints VALUES ('${links}', 0, 'a-log', 6)`,
      'redirects',
    ],
    [
      'a history with first versions of LinkCreated',
      '0049',
      `INSERT INTO projection_history.events (code, sequence, time, id, type, data)
       VALUES ('abc', 1, now(), gen_random_uuid(), 'linklog.LinkCreated.v1', '{}')`,
      'history',
    ],
    [
      'a history without offsets, and drop its previous version',
      '0062',
      `INSERT INTO projection_history.checkpoints (topic, partition, next_offset, log_id)
       VALUES ('${links}', 0, 0, 'a log');
       CREATE SCHEMA projection_history_previous; CREATE TABLE projection_history_previous.a ()`,
      'history',
    ],
    ['nothing of a new installation', null, '', null],
  ] as const) {
    it(`mark for a rebuild ${what}`, async () => {
      await (number === null ? migrate(database.pool) : upgrade(number, statement));
      expect(await rebuildsDue()).to.deep.equal(
        due === null ? [] : [{ name: `projection_${due}` }],
      );
      expect(await isLeft('projection_history_previous')).to.equal(false);
    });
  }

  it('initialize the counts of spools from their high-water marks', async () => {
    const source = '/linklog/spool/spool-1';
    await upgrade(
      '0054',
      `INSERT INTO projection_stats.high_water_marks VALUES
         ('${visits}', 0, '${source}', 90, '2026-05-20'),
         ('${visits}', 1, '${source}', 100, '2026-05-20')`,
    );
    const { pool } = database;
    const logger = createLogger('silent');
    const ends = { ranges: () => Promise.resolve([{ partition: 0, first: 0, next: 1 }]) };
    let now = 0;
    const watch = watchSpools({ pool, log: ends, logger, now: () => now });
    const statistics = feed(pool, stats);
    for (const [sequence, missing] of [
      [101, []],
      [104, [{ origin: 'spool', topic: visits, events: 2 }]],
    ] as const) {
      await statistics.records(visits, [recordOf(spooledVisit('abc', { sequence }))]);
      await watch();
      now += 60_000;
      await watch();
      expect(await missingEvents(pool)).to.deep.equal(missing);
    }
  });

  for (const [title, code, due] of [
    ['fold the texts of links', 'Other', []],
    [
      'mark redirects with other than ASCII characters for a rebuild',
      'Große',
      [{ name: 'projection_redirects' }],
    ],
  ] as const) {
    it(title, async () => {
      await upgrade(
        '0055',
        `INSERT INTO projection_redirects.links (code, status, url, account, created_at, sequence, title, note, tags)
         SELECT code, 'active', 'https://Example.com/' || code, 'acme', now(), 1, 'A Title', '', '["B", "a", "b"]'
         FROM unnest('{Abc,${code}}'::text[]) AS code;
         INSERT INTO projection_redirects.link_tags (account, tag, created_at, code)
         SELECT account, jsonb_array_elements_text(tags), created_at, code
         FROM projection_redirects.links WHERE code = 'Abc'`,
      );
      expect(
        await rowsOf(`SELECT folded FROM projection_redirects.links WHERE subject = 'Abc'`),
      ).to.deep.equal([{ folded: 'abc\nhttps://example.com/abc\na title\nb\na\nb' }]);
      expect(
        await rowsOf('SELECT tag FROM projection_redirects.link_tags ORDER BY tag'),
      ).to.deep.equal([{ tag: 'a' }, { tag: 'b' }]);
      expect(await rebuildsDue()).to.deep.equal(due);
    });
  }

  it('add the reuse key and the visit sequence of links like the fold', async () => {
    const url = 'https://example.com/ü';
    const moved = 'https://example.net/"\\';
    await upgrade(
      '0058',
      `INSERT INTO ledger.links (code, key_id, account, clicks, edited, sequence, last_event_at)
       VALUES ('alias', 'k', 'acme', 0, NULL, 1, now()), ('plain', 'k', 'acme', 2, NULL, 1, now()),
              ('moved', 'k', 'acme', 0, '${JSON.stringify({ url: moved })}', 2, now());
       INSERT INTO projection_redirects.links
         (code, status, url, account, created_at, sequence, custom, original, updated_at)
       SELECT code, 'active', url, 'acme', '2026-05-20T12:00:00Z', 1, custom, original, now()
       FROM (VALUES ('alias', '${url}', true, NULL), ('plain', '${url}', NULL, NULL),
                    ('moved', '${moved}', NULL, '{"url": "${url}"}'::jsonb))
         AS links (code, url, custom, original)`,
    );
    const found = await lockLinks(database.pool, ['alias', 'plain', 'moved']);
    for (const [subject, reuseKey, visitSequence] of [
      ['alias', null, 0],
      ['plain', reuseKeyOf('acme', url), 2],
      ['moved', reuseKeyOf('acme', moved), 0],
    ] as const) {
      expect(found.get(subject)).to.deep.include({ createdAt: at(0), reuseKey, visitSequence });
    }
  });

  it('keep the rows of links under the names of their subjects', async () => {
    const document = `'[[],[],[],[],[],[],[]]'`;
    const tables: Readonly<Record<string, string>> = {
      'ledger.links': `(code, key_id, account, sequence, last_event_at, created_at)
        VALUES ('Abc', 'k', 'acme', 1, now(), now())`,
      'ledger.password_tries': `(code, client, checking, checking_until, touched_at)
        VALUES ('Abc', 'c', 1, now(), now())`,
      'projection_redirects.links': `(code, status, url, account, created_at, sequence, title)
        VALUES ('Abc', 'active', 'https://example.com', 'acme', now(), 1, 'A title')`,
      'projection_redirects.link_tags': `(code, account, tag, created_at)
        VALUES ('Abc', 'acme', 'a tag', now())`,
      'projection_history.events': `(code, sequence, time, id, type, data)
        VALUES ('Abc', 1, now(), gen_random_uuid(), 'linklog.LinkCreated.v4', '{}')`,
      'projection_stats.codes': `(code, account, clicks, bots, day, uniques, series, document)
        VALUES ('Abc', 'acme', 40, 1, 20000, 3, '[0,40,1]', ${document})`,
      'projection_stats.links_by_clicks': `(code, account, clicks) VALUES ('Abc', 'acme', 40)`,
      'projection_stats.days': `(code, day, account, clicks, bots, uniques, series, document)
        VALUES ('Abc', 20000, 'acme', 40, 1, 3, '[0,40,1]', ${document})`,
      'projection_stats.quarters': `(code, day, quarter, document)
        VALUES ('Abc', 20000, 3, ${document})`,
      'projection_stats.months': `(code, month, clicks, bots, uniques, document)
        VALUES ('Abc', 600, 40, 1, 3, ${document})`,
      'projection_stats.visitors': `(code, day, visitor) VALUES ('Abc', 20000, 'abc')`,
    };
    const { pool } = database;
    await migrateUpTo('0061');
    for (const [table, values] of Object.entries(tables)) {
      await pool.query(`INSERT INTO ${table} ${values}`);
    }
    await pool.query(
      `INSERT INTO ledger.idempotency (key_id, path, idempotency_key, body_hash, status, answer, codes, created_at)
       VALUES ('k', '/v2/shorten', 'i', 'h', 201, '{}', '{Abc}', now());
       INSERT INTO ledger.safety_scans (name, due_at, past_code) VALUES ('a scan', now(), 'Abc');
       CREATE SCHEMA projection_stats_previous; CREATE TABLE projection_stats_previous.a ()`,
    );
    // Without the columns that later migrations add.
    const readTables = (name: 'code' | 'subject') =>
      Promise.all(
        Object.keys(tables).map((table) =>
          rowsOf(
            `SELECT to_jsonb(t) - '{code,subject,partition,record_offset,traceparent,opening}'::text[] AS row
             FROM ${name === 'code' ? table : table.replace('stats.codes', 'stats.links')} t
             WHERE ${name} = 'Abc'`,
          ),
        ),
      );
    const before = await readTables('code');
    await migrate(pool);
    expect(await readTables('subject')).to.deep.equal(before);
    expect(await rowsOf('SELECT subjects FROM ledger.idempotency')).to.deep.equal([
      { subjects: ['Abc'] },
    ]);
    expect(await rowsOf('SELECT past_subject FROM ledger.safety_scans')).to.deep.include({
      past_subject: 'Abc',
    });
    expect(await rebuildsDue()).to.deep.equal([]);
    expect(await isLeft('projection_stats_previous')).to.equal(false);
    const taken = await lockLinks(pool, ['Abc']);
    expect(taken.get('Abc')).to.include({ status: 'taken', account: 'acme' });
    // A visit continues the statistics.
    await feed(pool, stats).records(visits, [
      recordOf(spooledVisit('Abc', { sequence: 1, account: 'acme' })),
    ]);
    expect(
      await rowsOf(`SELECT clicks FROM projection_stats.links WHERE subject = 'Abc'`),
    ).to.deep.equal([{ clicks: 41 }]);
  });

  it('give later scopes to keys that were never restricted', async () => {
    const six = 'links:create,links:read,links:write,stats:read,qr:read,keys:manage';
    const restricted = ['links:create,stats:read,qr:read', six.split(',').slice(1).join(), ''];
    const scopes = [six, six.split(',').reverse().join(), ...restricted];
    const values = scopes.map(
      (list, index) =>
        `('key-${index}', 'name', 'PRO', 'acme', 'active', now(), 1, now(), '{${list}}', '{}')`,
    );
    await upgrade(
      '0061',
      `INSERT INTO ledger.api_keys
         (id, name, plan, account, status, created_at, sequence, last_event_at, scopes, ancestors)
       VALUES ${values.join()}`,
    );
    expect(
      await rowsOf(
        `SELECT array_to_string(scopes, ',') AS scopes FROM ledger.api_keys ORDER BY id`,
      ),
    ).to.deep.equal([null, null, ...restricted].map((list) => ({ scopes: list })));
  });

  it('continue after an interruption, with the generation raised from the first step on', async () => {
    await migrateUpTo('0059');
    const { pool } = database;
    // Conflicts with 0064.
    await pool.query('CREATE SCHEMA imports');
    const last = () => rowsOf('SELECT left(max(file), 4) AS last FROM public.migrations');
    expect(await rejection(migrate(pool))).to.include({ code: '42P06' });
    expect(await last()).to.deep.equal([{ last: '0063' }]);
    expect(await rowsOf('SELECT generation FROM public.generation')).to.deep.equal([
      { generation },
    ]);
    await pool.query('DROP SCHEMA imports');
    await migrate(pool);
    expect(await last()).not.to.deep.equal([{ last: '0063' }]);
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
});
