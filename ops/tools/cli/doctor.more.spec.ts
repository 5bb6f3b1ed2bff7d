// An own product: the tests damage its database.
import { expect } from 'chai';
import type { DoctorReport, Finding } from '../../../schemas/http/doctor.js';
import { productFixture } from '../../test/e2e/harness.js';
import { folderFixture } from '../../test/support/fixtures.js';
import { withLedger } from '../../test/support/ledger-events.js';
import { startLinklogCli } from '../../test/support/process.js';
import { eventually } from '../../test/support/waiting.js';

describe('product: linklog doctor', () => {
  const folder = folderFixture();
  const bench = productFixture(() => ({ BACKUP_DIR: folder.path }));

  const examine = async (env: Readonly<Record<string, string>> = {}) => {
    const { dataDir, edge } = bench.product;
    const { exitCode, stdout } = await startLinklogCli(['doctor', '--json'], {
      ...{ DATA_DIR: dataDir, SHORT_URL_HOST: edge, BACKUP_DIR: folder.path, ...env },
    }).ended;
    const { findings } = JSON.parse(stdout) as DoctorReport;
    const listed = (state: Finding['state']): readonly string[] =>
      findings.flatMap((found) => (found.state === state ? [`${found.check}: ${found.text}`] : []));
    return { exitCode, ok: listed('ok'), warning: listed('warning'), failed: listed('failed') };
  };

  it('finds a healthy installation, on its machine and as an operator’s call', async () => {
    const isBackedUp = async (): Promise<boolean> => (await examine()).exitCode === 0;
    await eventually('the first backup', isBackedUp, 60_000);
    const { ok, warning } = await examine();
    expect(warning).to.deep.equal([]);
    expect(ok).to.include.members([
      `short URLs: ${bench.product.edge} reaches an edge`,
      'log: the log has all its topics and records',
      'seals: the log is sealed',
    ]);
    const { findings } = (await bench.admin('GET', '/admin/doctor')).json() as DoctorReport;
    expect(findings.filter(({ state }) => state === 'failed')).to.deep.equal([]);
    expect(findings.map(({ check }) => check)).to.include('certificates');
  });

  it('finds what is wrong, with a remedy', async () => {
    await withLedger(bench.product, async (pool) => {
      await pool.query('ALTER ROLE CURRENT_USER SET synchronous_commit = off');
      await pool.query(
        `INSERT INTO public.processes (id, version, generation, services, host, pid, started_at, last_seen_at)
         SELECT gen_random_uuid(), '0.1.0', generation, 'edge', host, pid, started_at, clock_timestamp() + '1 minute'
         FROM public.processes LIMIT 1`,
      );
      await pool.query(
        `INSERT INTO ledger.domains (domain, account, created_at, verified_at, sequence, last_event_at)
         VALUES ('go.doctor.invalid', 'acme', now(), now(), 1, now())`,
      );
    });
    const { exitCode, failed, warning } = await examine({
      ...{ SHORT_URL_HOST: 'http://127.0.0.1:9', BACKUP_DIR: `${folder.path}/none` },
    });
    expect(exitCode).to.equal(1);
    expect(failed.join('\n')).to.match(/127\.0\.0\.1:9 is not reachable/);
    expect(failed.join('\n')).to.match(/go\.doctor\.invalid does not respond with TLS/);
    expect(failed).to.include(
      'postgres: synchronous_commit is off: acknowledged changes can be lost',
    );
    expect(failed).to.include(`backup: no verified backup in ${folder.path}/none`);
    expect(warning.join('\n')).to.match(/versions 0\.1\.0 and .+ are running/);
  });

  it('works without the service, and says so', async () => {
    const { exitCode, ok, failed } = await examine({ DATA_DIR: `${folder.path}/other` });
    expect(exitCode).to.equal(1);
    expect(failed.join('\n')).to.match(/postgres: no embedded PostgreSQL runs/);
    expect(ok.join('\n')).to.match(/files: the limit of open files/);
  });
});
