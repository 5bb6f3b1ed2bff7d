import { expect } from 'chai';
import { withLedger } from '../support/ledger-events.js';
import { startLinklogCli, type CommandOutput } from '../support/process.js';
import { startEmbeddedProduct } from '../support/product.js';
import { waitUntilProjected } from '../support/projected.js';
import { Bench, destination, passwordForm, type Link } from './harness.js';

const evil = 'https://evil.example/';

/** The embedded log is in the same PostgreSQL; seals detect its changes. */
describe('product: an attacker with all rights in PostgreSQL', function () {
  this.timeout(60_000);
  const bench = new Bench();
  let key: string;

  before(async () => {
    bench.use(await startEmbeddedProduct());
    ({ key } = await bench.key('PRO'));
  });
  after(() => bench.end());

  const linklog = (...args: readonly string[]): Promise<CommandOutput> =>
    startLinklogCli(args, { DATA_DIR: bench.product.dataDir }).ended;

  /** Creates a link that no edge has cached. */
  const createUncachedLink = async (): Promise<Link> => {
    const link = await bench.link(key);
    await waitUntilProjected(bench.product.edges);
    return link;
  };

  const locationOf = async (code: string): Promise<string | undefined> =>
    (await bench.visit(code)).headers.location;

  const query = (sql: string, values: readonly string[]): Promise<unknown> =>
    withLedger(bench.product, (client) => client.query(sql, [...values]));

  it('reads no API key, no admin token, no password and no address', async () => {
    const localAddress = '127.0.0.77';
    const password = 'a password of a link';
    const { shortCode } = await bench.link(key, { password });
    const guess = (guessed: string) =>
      bench.visit(shortCode, passwordForm(guessed, { localAddress }));
    expect((await guess('a wrong password')).status).to.equal(401);
    expect((await guess(password)).status).to.equal(303);
    const retry = await bench.shorten(key, { url: destination }, { 'Idempotency-Key': 'retry' });
    expect(retry.status).to.equal(201);
    await waitUntilProjected(bench.product.edges);
    const text = [...(await bench.dumpTables()).values()].join('\n');
    // The dump is complete.
    expect(text).to.include('argon2id').and.to.include(shortCode);
    const secrets = [key, bench.product.adminToken, bench.product.firstKey ?? '', password];
    for (const secret of [...secrets, localAddress]) {
      expect(text).not.to.include(secret);
      expect(text).not.to.include(Buffer.from(secret).toString('hex'));
    }
  });

  it('can change a destination, which audit verify reports and a rebuild undoes', async () => {
    const { shortCode } = await createUncachedLink();
    await query('UPDATE projection_redirects.links SET url = $2 WHERE subject = $1', [
      shortCode,
      evil,
    ]);
    expect(await locationOf(shortCode)).to.equal(evil);
    const found = await linklog('audit', 'verify');
    expect(found.exitCode).to.equal(1);
    expect(found.stdout).to.include(`redirects.links subject=${shortCode} differs from the log`);
    const rebuilt = await linklog('projections', 'rebuild', 'redirects', '--yes');
    expect(rebuilt.exitCode, rebuilt.stderr).to.equal(0);
    expect((await linklog('audit', 'verify')).exitCode).to.equal(0);
  });

  it('can remove a block, which audit verify reports', async () => {
    const { shortCode } = await createUncachedLink();
    await bench.admin('POST', `/admin/links/${shortCode}/block`, { reason: 'phishing' });
    expect((await bench.visit(shortCode)).status).to.equal(410);
    await query('UPDATE ledger.links SET blocked = false WHERE subject = $1', [shortCode]);
    const found = await linklog('audit', 'verify');
    expect(found.exitCode).to.equal(1);
    expect(found.stdout).to.include(`ledger.links subject=${shortCode} differs from the log`);
  });
});
