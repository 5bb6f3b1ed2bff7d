import { expect } from 'chai';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { recordOf, spooledVisit } from '../../../../schemas/testing/events.js';
import { allSealed, alterRecord, forgeChain } from '../../../test/support/sealing.js';
import { sendRequest } from '../../../test/support/http.js';
import type { HealthResponse } from '../../../../schemas/http/health.js';
import { topics } from '../../../../schemas/events/topics.js';
import type { EventLog } from '../../../event-log/port.js';
import { createLogger } from '../../../platform/logging.js';
import { eventually } from '../../../test/support/waiting.js';
import { runLinklogCli } from '../../../test/support/command-line.js';
import { openTestLog } from '../../../test/support/node.js';
import { launch, mainFile, readyLine, type RunningProcess } from '../../../test/support/process.js';
import { databaseFixture, folderFixture } from '../../../test/support/fixtures.js';

const visits = topics.visits.name;

describe('audit: linklog audit seal', function () {
  this.timeout(180_000);
  const dir = folderFixture();
  const database = databaseFixture('seals_e2e');
  let log: EventLog;
  let projector: RunningProcess;
  let admin: string;
  const logger = createLogger('silent');

  before(async () => {
    ({ log } = await openTestLog({ pool: database.pool, url: database.url, logger }));
  });

  after(async () => {
    projector.child.kill('SIGKILL');
    await projector.ended;
    await log.close();
  });

  const file = (name: string): string => path.join(dir.path, name);

  const auditWith = (env: Record<string, string>, ...args: readonly string[]) =>
    runLinklogCli(['audit', ...args], {
      ...{ DATABASE_URL: database.url, DATA_DIR: file('cli') },
      ...env,
    });
  const audit = (...args: readonly string[]) => auditWith({}, ...args);
  const cli = (...args: readonly string[]) => audit('seal', ...args);

  let sequence = 0;
  const visit = async (rounds: number): Promise<void> => {
    for (let round = 0; round < rounds; round += 1) {
      const records = Array.from({ length: 40 }, (_, index) =>
        recordOf(spooledVisit(`code-${index % 12}`, { sequence: (sequence += 1) })),
      );
      await log.append(visits, records);
    }
  };

  it('signs the log, and exports checkpoints and the public key', async () => {
    projector = launch(
      {
        ...{ DATABASE_URL: database.url, DATA_DIR: file('projectors') },
        SEAL_KEY_FILE: file('seal.pem'),
      },
      [mainFile, 'projectors'],
    );
    ({ admin } = (await readyLine(projector)) as { readonly admin: string });
    expect((await stat(file('seal.pem'))).mode & 0o777).to.equal(0o600);
    await visit(40);
    await allSealed(database.pool, log);

    const exported = await cli('--export', file('seals.json'), '--export-key', file('key.pub.pem'));
    expect(exported).to.include({ exitCode: 0, stderr: '' });
    expect(await readFile(file('key.pub.pem'), 'utf8')).to.match(/^-----BEGIN PUBLIC KEY-----/);
    expect(await readFile(file('seals.json'), 'utf8')).not.to.include('PRIVATE');
    const again = await cli('--export', file('seals.json'));
    expect([again.exitCode, again.stderr]).to.deep.equal([
      1,
      `linklog: ${file('seals.json')} exists already; choose another name, or replace it with --force\n`,
    ]);
  });

  const verifyBy = (key: string, ...args: readonly string[]) =>
    audit('verify', '--seals', '--public-key', file(key), ...args);
  const verify = (...args: readonly string[]) =>
    verifyBy('key.pub.pem', '--checkpoint', file('seals.json'), ...args);

  it('is verified with the exported public key and checkpoints', async () => {
    await visit(1);
    const { exitCode, stdout } = await verify();
    expect(exitCode).to.equal(0);
    expect(stdout).to.match(/^Intact: 1,6\d\d events are as sealed; \d+ events after/);
    const json = await verify('--json');
    expect(JSON.parse(json.stdout)).to.include({ isIntact: true });
    const alone = await verifyBy('key.pub.pem');
    expect(alone.exitCode).to.equal(0);
    expect(alone.stderr).to.include('without --checkpoint');
  });

  /** The partition of the altered event. */
  let altered: number;

  it('reports partition and offset of an altered event', async () => {
    const { pool } = database;
    altered = (await log.ranges(visits)).find(({ next }) => next > 100)?.partition ?? -1;
    await alterRecord(pool, { topic: visits, partition: altered, offset: 21 }, (value) =>
      value.replace('2026', '2025'),
    );
    const { exitCode, stdout } = await verify();
    expect(exitCode).to.equal(1);
    const name = `${visits}/${altered}`;
    expect(stdout).to.match(/^NOT INTACT\n/);
    expect(stdout).to.include(`\n${name}: first bad offset 21: the record differs from its seal`);
  });

  it('stops sealing a forged partition, and raises an alarm', async () => {
    const ranges = await log.ranges(visits);
    const to = ranges.find(({ partition }) => partition === altered)?.next ?? 0;
    await allSealed(database.pool, log);
    await forgeChain(database.pool, log, { topic: visits, partition: altered }, { from: 0, to });
    await visit(2);
    await eventually('the alarm is given', async () => {
      const { status, text } = await sendRequest(`${admin}/health/ready`);
      expect(status).to.equal(200);
      const { seals } = (JSON.parse(text) as HealthResponse).dependencies;
      return seals?.state === 'down' && seals.code === 'CHAIN_BROKEN';
    });
    const { text } = await sendRequest(`${admin}/metrics`);
    expect(text).to.match(/^linklog_seals_broken_chains 1$/m);

    const finding = `\n${visits}/${altered}: first bad offset`;
    const args = ['verify', '--seals', '--public-key', file('key.pub.pem')];
    const remembered = await auditWith({ SEAL_KEY_FILE: file('seal.pem') }, ...args);
    expect([remembered.exitCode, remembered.stdout.includes(finding)]).to.deep.equal([1, true]);
    expect(remembered.stderr).to.include(`the last seals are read from ${file('seal.pem')}.signed`);
    const verified = await verify();
    expect([verified.exitCode, verified.stdout.includes(finding)]).to.deep.equal([1, true]);
  });

  it('rejects a file without a key, and a missing key', async () => {
    const wrong = await verifyBy('seals.json');
    expect([wrong.exitCode, wrong.stderr]).to.deep.equal([
      2,
      `linklog: ${file('seals.json')} contains no Ed25519 key in PEM format\n`,
    ]);
    const swapped = await verifyBy('key.pub.pem', '--checkpoint', file('key.pub.pem'));
    expect(swapped.exitCode).to.equal(2);
    expect(swapped.stderr).to.include('contains no checkpoints');
    expect((await audit('verify', '--seals')).exitCode).to.equal(2);
  });

  it('retires a key once', async () => {
    const { keyId } = JSON.parse((await cli('--json')).stdout) as { keyId: string };
    const retired = await cli('retire-key', '--yes', '--json');
    expect(JSON.parse(retired.stdout)).to.deep.equal({ retired: keyId });
    expect(await cli('retire-key', '--yes')).to.include({
      exitCode: 1,
      stderr: 'linklog: no key is active\n',
    });
  });
});
