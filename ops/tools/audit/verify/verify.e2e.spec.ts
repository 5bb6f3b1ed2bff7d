import { expect } from 'chai';
import { catalogue } from '../../../../schemas/events/catalogue.js';
import { topics } from '../../../../schemas/events/topics.js';
import { accountsPartition } from '../../../../schemas/read-models/history.js';
import { projections } from '../../../../projectors/projections.js';
import { rebuild } from '../../../../projectors/runtime/rebuild.js';
import { withDatabase } from '../../cli/database.js';
import { destination, productFixture } from '../../../test/e2e/harness.js';
import { partitionOf } from '../../../event-log/partition.js';
import { readConfig } from '../../../config/config.js';
import type { Pool } from '../../../platform/postgres/pool.js';
import { foldedTables } from '../../../ledger/rebuild/working-state.js';
import { isClean, type Difference, type Verification } from './report.js';
import { createTraffic, runUnderLoad } from '../../../test/support/audit/traffic.js';
import { verify } from './verify.js';
import { startLinklogCli } from '../../../test/support/process.js';
import { waitUntilProjected } from '../../../test/support/projected.js';
import { fixture } from '../../../test/support/fixture.js';

const formatDifference = ({ model, table, kind, key, columns }: Difference): string => {
  const names = kind === 'differs' ? ` ${columns.map(({ name }) => name).join(' ')}` : '';
  return `${model}.${table} ${Object.values(key).join('/')} ${kind}${names}`;
};

describe('audit verify, on a running service', function () {
  this.timeout(120_000);
  const bench = productFixture();
  const traffic = fixture(() => createTraffic(bench));

  let shareId = '';

  before('add a domain and shares', async () => {
    const added = { domain: 'a.example.com', account: 'acme' };
    const response = await bench.admin('POST', '/admin/domains', added);
    expect(response.status, response.text).to.equal(201);
    const path = `/admin/links/${traffic.codes[0] ?? ''}/share`;
    const shared = await bench.admin('POST', path, { password: 'open sesame' });
    shareId = (shared.json() as { readonly id: string }).id;
    const ended = await bench.admin('POST', path, {});
    await bench.admin('DELETE', `${path}/${(ended.json() as { readonly id: string }).id}`);
  });

  const onDatabase = <Result>(
    work: (database: Parameters<Parameters<typeof withDatabase<Result>>[1]>[0]) => Promise<Result>,
  ): Promise<Result> =>
    withDatabase(readConfig({ DATA_DIR: bench.product.dataDir }), work, { deadlines: 'patient' });

  const verified = (): Promise<Verification> =>
    onDatabase(({ pool, log }) => verify({ pool, log, limit: 100 }));

  const change = (...statements: readonly string[]): Promise<void> =>
    onDatabase(async ({ pool }) => {
      for (const statement of statements) {
        const { rowCount } = await pool.query(statement);
        expect(rowCount, statement).to.equal(1);
      }
    });

  /** Returns the positions of events in the format of the report. */
  const positionsOf = async (pool: Pool, type: string, key: string): Promise<readonly string[]> => {
    const { rows } = await pool.query<{ position: string }>(
      `SELECT topic || '/' || partition || ' ' || record_offset AS position
       FROM log.events JOIN log.partitions p ON p.id = partition_id
       WHERE key = $1 AND value::json ->> 'type' = $2 ORDER BY record_offset`,
      [key, type],
    );
    return rows.map(({ position }) => position);
  };

  it('finds no difference under load and during rebuilds', async () => {
    const events: number[] = [];
    const acts = await runUnderLoad(bench, traffic, async () => {
      for (let round = 0; round < 2; round += 1) {
        const projection = projections[round];
        const [found] = await Promise.all([
          verified(),
          // A rebuild replaces live tables meanwhile.
          projection && onDatabase((database) => rebuild({ ...database, projection })),
        ]);
        expect(found.differences.map(formatDifference)).to.deep.equal([]);
        expect(isClean(found)).to.equal(true);
        events.push(found.events);
      }
    });
    expect(events).to.deep.equal([...new Set(events)].sort((a, b) => a - b));
    expect(acts).to.be.above(2);
  });

  it('is a command, and leaves no temporary table', async () => {
    const { exitCode, stdout, stderr } = await startLinklogCli(['audit', 'verify', '--json'], {
      DATA_DIR: bench.product.dataDir,
    }).ended;
    expect(exitCode, stderr).to.equal(0);
    const output = JSON.parse(stdout) as Verification & { clean: boolean };
    expect(output.clean).to.equal(true);
    const tables = output.tables.map(({ model, table }) => `${model}.${table}`);
    expect(tables).to.include.members([
      ...['redirects.links', 'quotas.months', 'stats.links', 'history.events'],
      ...foldedTables.map((table) => `ledger.${table}`),
    ]);
    await onDatabase(async ({ pool }) => {
      const { rows } = await pool.query(
        `SELECT relname FROM pg_class WHERE relpersistence = 't' AND relkind = 'r'`,
      );
      expect(rows).to.deep.equal([]);
    });
  });

  it('stops when the signal is aborted', async () => {
    const stopped = new AbortController();
    const reason = new Error('stopped');
    const end = await onDatabase(({ pool, log }) =>
      verify({
        pool,
        log,
        progress: (done) => {
          if (done > 0) stopped.abort(reason);
        },
        signal: stopped.signal,
      }),
    ).catch((error: unknown) => error);
    expect(end).to.equal(reason);
  });

  it('reports an altered row of every table, and deleted and added rows', async () => {
    await waitUntilProjected(bench.product.edges);
    const { busy, idle, codes } = traffic;
    const [a = '', b = '', c = '', d = '', , f = ''] = codes;
    await change(
      `UPDATE projection_redirects.links SET url = 'https://evil.example/' WHERE subject = '${a}'`,
      `UPDATE projection_stats.links SET clicks = clicks + 1 WHERE subject = '${a}'`,
      `UPDATE projection_history.events SET data = replace(data, 'phishing', 'fishing')
         WHERE subject = '${b}' AND sequence = 2`,
      `UPDATE projection_history.events SET actor = 'evil'
         WHERE subject = '${busy.id}' AND sequence = 1`,
      `UPDATE projection_quotas.months SET links = links - 1 WHERE key_id = '${busy.id}'`,
      `INSERT INTO projection_quotas.high_water_marks
         SELECT topic, partition, key, 1 FROM log.events
         JOIN log.partitions p ON p.id = partition_id AND topic = 'linklog.links.v1'
         WHERE key = '${a}' LIMIT 1`,
      `UPDATE ledger.links SET max_clicks = 4 WHERE subject = '${d}'`,
      `UPDATE ledger.api_keys SET plan = 'PRO' WHERE id = '${idle.id}'`,
      `UPDATE ledger.alias_overrides SET account = 'evil' WHERE alias = 'docs'`,
      `UPDATE ledger.domains SET account = 'evil' WHERE domain = 'a.example.com'`,
      `UPDATE ledger.shares SET token_hash = 'forged-token' WHERE id = '${shareId}'`,
      'UPDATE ledger.platform SET qr = false',
      `UPDATE ledger.key_meters SET month_qr_codes = month_qr_codes + 5, window_calls = 0
         WHERE key_id = '${busy.id}'`,
      `DELETE FROM projection_redirects.links WHERE subject = '${c}'`,
      `DELETE FROM ledger.links WHERE subject = '${f}'`,
      `UPDATE ledger.key_secrets SET ends_at = now() WHERE key_id = '${idle.id}'`,
      `INSERT INTO projection_redirects.links SELECT 'unknown', status, expired, url, account,
         created_at, expires_at, max_clicks, password_hash, sequence
         FROM projection_redirects.links WHERE subject = '${f}'`,
      `INSERT INTO ledger.key_secrets VALUES ('${idle.id}', sha256('unknown'))`,
    );
    const found = await verified();
    const reported = found.differences.map(formatDifference);
    const month = `${new Date().toISOString().slice(0, 7)}-01`;
    const markOf = reported.find((difference) => difference.startsWith('quotas.high_water_marks'));
    expect(markOf).to.match(
      new RegExp(`^quotas.high_water_marks linklog.links.v1/\\d/${a} extra$`),
    );
    expect(reported.filter((difference) => difference !== markOf)).to.have.members([
      `redirects.links ${a} differs url`,
      `redirects.links ${c} missing`,
      'redirects.links unknown extra',
      `stats.links ${a} differs clicks`,
      `history.events ${b}/2/${partitionOf(b, topics.links.partitions)} differs data`,
      `history.events ${busy.id}/1/${accountsPartition} differs actor`,
      `quotas.months ${busy.id}/${month} differs links`,
      `ledger.links ${d} differs max_clicks`,
      `ledger.links ${f} missing`,
      `ledger.api_keys ${idle.id} differs plan`,
      `ledger.key_secrets ${idle.id}/(secret) differs ends_at`,
      `ledger.key_secrets ${idle.id}/(secret) extra`,
      'ledger.alias_overrides docs differs account',
      'ledger.domains a.example.com differs account',
      `ledger.shares ${shareId} differs token_hash`,
      'ledger.platform true differs qr',
      `ledger.key_meters ${busy.id} differs month_qr_codes`,
    ]);

    const explained = (start: string): Verification['differences'][number] => {
      const difference = found.differences.find((candidate) =>
        formatDifference(candidate).startsWith(start),
      );
      if (!difference) throw new Error(`no difference of ${start}`);
      return difference;
    };
    expect(explained(`redirects.links ${a}`).columns).to.deep.equal([
      { name: 'url', found: 'https://evil.example/', expected: destination },
    ]);
    await onDatabase(async ({ pool }) => {
      const positionsIn = (start: string) =>
        explained(start)
          .events.filter(({ type }) => type === 'linklog.LinkCreated.v4')
          .map(({ topic, partition, offset }) => `${topic}/${partition} ${offset}`);
      const creation = await positionsOf(pool, 'linklog.LinkCreated.v4', a);
      expect(creation).to.have.length(1);
      expect(positionsIn(`redirects.links ${a}`)).to.deep.equal(creation);
      expect(positionsIn(`quotas.high_water_marks`)).to.deep.equal(creation);
      const visits = await positionsOf(pool, 'linklog.LinkVisited.v4', a);
      expect(explained(`stats.links ${a}`).eventCount).to.equal(visits.length);
    });
    expect(explained('redirects.links unknown').eventCount).to.equal(0);
    const eventsOf = (start: string) => explained(start).events.map(({ type }) => type);
    expect(eventsOf(`history.events ${busy.id}`)).to.deep.equal([catalogue.ApiKeyCreated.type]);
    expect(eventsOf('ledger.domains a.example.com')).to.deep.equal(['linklog.DomainVerified.v2']);
    expect(eventsOf('ledger.platform')).to.include('linklog.FeatureSwitched.v1');
    expect(JSON.stringify(found)).to.not.match(/argon2id|[0-9a-f]{64}|forged-token/);
  });

  it('reports an altered event of the log, and the position of a deleted one', async () => {
    const [, , , , e = '', f = ''] = traffic.codes;
    let deleted = '';
    await onDatabase(async ({ pool }) => {
      [deleted = ''] = await positionsOf(pool, 'linklog.QrRendered.v1', traffic.busy.id);
      await pool.query(
        `UPDATE log.records SET value = replace(value, 'somewhere', 'elsewhere') WHERE key = $1`,
        [e],
      );
      await pool.query(
        `DELETE FROM log.records WHERE (partition_id, first_offset) IN (
           SELECT id, $2::bigint FROM log.partitions WHERE topic || '/' || partition = $1)`,
        deleted.split(' '),
      );
    });
    const found = await verified();
    expect(found.differences.map(formatDifference)).to.include.members([
      `redirects.links ${e} differs url folded`,
      `history.events ${e}/1/${partitionOf(e, topics.links.partitions)} differs data`,
    ]);
    expect(found.differences.map(formatDifference)).to.not.include(
      `redirects.links ${f} differs url folded`,
    );
    const gaps = found.gaps.map(({ topic, partition, from }) => `${topic}/${partition} ${from}`);
    expect(gaps).to.deep.equal([deleted]);
    const { exitCode, stdout } = await startLinklogCli(['audit', 'verify'], {
      DATA_DIR: bench.product.dataDir,
    }).ended;
    expect(exitCode).to.equal(1);
    expect(stdout).to.include(`redirects.links subject=${e} differs from the log`);
    expect(stdout).to.match(
      /url: "[^"]*somewhere[^"]*" in the table, "[^"]*elsewhere[^"]*" in the log/,
    );
    expect(stdout).to.match(/linklog\.links\.v1\/\d at \d+: linklog\.LinkCreated\.v4/);
    expect(stdout).to.match(/linklog\.usage\.v1\/\d at \d+ has no event/);
    expect(stdout).to.not.match(/argon2id|[0-9a-f]{64}/);
  });
});
