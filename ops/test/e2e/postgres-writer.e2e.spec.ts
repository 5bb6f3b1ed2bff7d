import { expect } from 'chai';
import pg from 'pg';
import { runningPostgresUrl } from '../../local/postgres/index.js';
import { startLinklogCli, type Said } from '../support/process.js';
import { startEmbeddedProduct } from '../support/product.js';
import { untilProjected } from '../support/projected.js';
import { Bench, destination, type Link } from './harness.js';

const evil = 'https://evil.example/';

/** The log is in the same PostgreSQL here; that it was not altered is what seals are for. */
describe('product: someone who has all rights in PostgreSQL', function () {
  this.timeout(60_000);
  const bench = new Bench();
  let client: pg.Client;
  let key: string;

  before(async () => {
    bench.use(await startEmbeddedProduct());
    ({ key } = await bench.key('PRO'));
    const url = await runningPostgresUrl(bench.product.dataDir);
    if (url === null) throw new Error('The embedded PostgreSQL does not run');
    client = new pg.Client({ connectionString: url });
    await client.connect();
  });
  after(async () => {
    await client.end();
    await bench.end();
  });

  const linklog = (...args: readonly string[]): Promise<Said> =>
    startLinklogCli(args, { DATA_DIR: bench.product.dataDir }).ended;

  /** A link that the edge has not in memory. */
  const projected = async (): Promise<Link> => {
    const link = await bench.link(key);
    await untilProjected(bench.product.edges);
    return link;
  };

  const locationOf = async (code: string): Promise<string | undefined> =>
    (await bench.visit(code)).headers.location;

  /** Every row of every table, as text. */
  const dump = async (): Promise<string> => {
    const { rows } = await client.query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
       WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
    );
    const tables: string[] = [];
    for (const { name } of rows) {
      const { rows: all } = await client.query<{ row: string }>(
        `SELECT t::text AS row FROM ${name} t`,
      );
      tables.push(`${name}\n${all.map(({ row }) => row).join('\n')}`);
    }
    return tables.join('\n');
  };

  it('reads no API key, no admin token, no password and no address', async () => {
    const localAddress = '127.0.0.77';
    const password = 'a password of a link';
    const { shortCode } = await bench.link(key, { password });
    const guess = (guessed: string) =>
      bench.visit(shortCode, {
        method: 'POST',
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ password: guessed }).toString(),
        localAddress,
      });
    expect((await guess('a wrong password')).status).to.equal(401);
    expect((await guess(password)).status).to.equal(303);
    const retry = await bench.shorten(key, { url: destination }, { 'Idempotency-Key': 'retry' });
    expect(retry.status).to.equal(201);
    await untilProjected(bench.product.edges);
    const all = await dump();
    // It is a dump of what there is.
    expect(all).to.include('argon2id').and.to.include(shortCode);
    const secrets = [key, bench.product.adminToken, bench.product.firstKey ?? '', password];
    for (const secret of [...secrets, localAddress]) {
      expect(all).not.to.include(secret);
      expect(all).not.to.include(Buffer.from(secret).toString('hex'));
    }
  });

  it('can lead a link elsewhere, which audit verify names and a rebuild undoes', async () => {
    const { shortCode } = await projected();
    await client.query('UPDATE projection_redirects.links SET url = $2 WHERE code = $1', [
      shortCode,
      evil,
    ]);
    expect(await locationOf(shortCode)).to.equal(evil);
    const found = await linklog('audit', 'verify');
    expect(found.exitCode).to.equal(1);
    expect(found.stdout).to.include(`redirects.links code=${shortCode} differs from the log`);
    const rebuilt = await linklog('projections', 'rebuild', 'redirects');
    expect(rebuilt.exitCode, rebuilt.stderr).to.equal(0);
    expect((await linklog('audit', 'verify')).exitCode).to.equal(0);
  });

  it('can lift a block, which audit verify names', async () => {
    const { shortCode } = await projected();
    await bench.admin('POST', `/admin/links/${shortCode}/block`, { reason: 'phishing' });
    expect((await bench.visit(shortCode)).status).to.equal(410);
    await client.query('UPDATE ledger.links SET blocked = false WHERE code = $1', [shortCode]);
    const found = await linklog('audit', 'verify');
    expect(found.exitCode).to.equal(1);
    expect(found.stdout).to.include(`ledger.links code=${shortCode} differs from the log`);
  });
});
