import { expect } from 'chai';
import path from 'node:path';
import { runLinklogCli } from '../../../ops/test/support/command-line.js';
import {
  startEventStoreDouble,
  type EventStoreDouble,
} from '../../../ops/test/support/eventstore/double.js';
import { parseExposition } from '../../../ops/test/support/exposition.js';
import { folderFixture } from '../../../ops/test/support/fixtures.js';
import { sendRequest } from '../../../ops/test/support/http.js';
import { startEmbeddedProduct, type Product } from '../../../ops/test/support/product.js';
import { eventually } from '../../../ops/test/support/waiting.js';
import { ownerStream } from './owner.js';

describe('archive: operators of the running product', function () {
  this.timeout(120_000);
  const folder = folderFixture();
  let double: EventStoreDouble;
  let product: Product;
  let key: string;

  const startDouble = async (port = 0): Promise<void> => {
    double = await startEventStoreDouble({ port, file: path.join(folder.path, 'streams') });
  };

  before(async () => {
    await startDouble();
    product = await startEmbeddedProduct({
      env: { EVENTSTORE_URL: double.url, LOG_LEVEL: 'info' },
    });
    ({ key } = await product.createKey({ plan: 'PRO' }));
  });

  after(async () => {
    try {
      await product.stop();
    } finally {
      await product.cleanup();
      double.kill();
    }
  });

  const shorten = async (alias: string): Promise<void> => {
    const { status, text } = await sendRequest(`${product.api}/v2/shorten`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}` },
      body: { url: 'https://example.com/', alias },
    });
    expect(status, text).to.equal(201);
  };

  const linklog = async (...args: readonly string[]) =>
    runLinklogCli(['projections', ...args], { DATA_DIR: product.dataDir });

  const lag = async (): Promise<number | undefined> => {
    const { stdout } = await linklog('status', '--json');
    const { projections } = JSON.parse(stdout) as {
      readonly projections: readonly { readonly name: string; readonly lag: number }[];
    };
    return projections.find(({ name }) => name === 'archive')?.lag;
  };
  const untilCopied = () => eventually('the archive has no lag', async () => (await lag()) === 0);

  it('list it, rebuild and redrive it without a restart, and get a refusal of a rollback', async () => {
    await shorten('rebuilt');
    await untilCopied();
    double.streams.cut('link-rebuilt', 0);
    const rebuilt = await linklog('rebuild', 'archive', '--yes');
    expect(rebuilt, rebuilt.stderr).to.deep.include({ exitCode: 0, stderr: '' });
    expect(rebuilt.stdout).to.match(
      /^The rebuild of the archive has begun: \d+ events to read again\n$/,
    );
    await eventually('the link is back', () => double.streams.events('link-rebuilt')?.length === 1);
    expect((await linklog('redrive', 'archive')).stdout).to.equal(
      'The redrive of the archive has begun: 0 events to read again\n',
    );
    expect(await linklog('rebuild', 'archive', '--rollback', '--yes')).to.deep.include({
      exitCode: 1,
      stderr: 'linklog: There is no previous archive to go back to; rebuild it instead\n',
    });
    const call = async (work: string) => {
      const response = await sendRequest(`${product.admin}/admin/projections/archive/${work}`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${product.adminToken}` },
      });
      return [response.status, response.json()] as const;
    };
    expect((await call('rebuild'))[1]).to.deep.include({ work: 'rebuild', error: null });
    expect(await call('rollback')).to.deep.include(409);
    await untilCopied();
  });

  const readiness = async () => {
    const response = await sendRequest(`${product.admin}/health/ready`);
    const { dependencies } = response.json() as {
      readonly dependencies: { readonly archive: { readonly state: string } };
    };
    return { status: response.status, state: dependencies.archive.state };
  };

  it('find an outage in health and lag, one line about it, and one about its end', async () => {
    await untilCopied();
    const before = product.stderr().length;
    const { port } = double;
    double.kill();
    const links = Array.from({ length: 40 }, (_, index) => `outage-${index}`);
    for (const link of links) await shorten(link);
    await eventually('the outage is in the log', () =>
      product.stderr().slice(before).includes('the archive is unavailable'),
    );
    await eventually('health reports it', async () => (await readiness()).state === 'down');
    expect((await readiness()).status).to.equal(200);
    const { text } = await sendRequest(`${product.admin}/metrics`);
    const gauge = parseExposition(text).find(({ name }) => name === 'linklog_archive_lag_events');
    expect(gauge?.value).to.be.greaterThan(0);
    await startDouble(port);
    await eventually('the end is in the log', async () => {
      await readiness();
      return product.stderr().slice(before).includes('the archive is available again');
    });
    await untilCopied();
    const lines = product
      .stderr()
      .slice(before)
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { readonly msg: string; readonly events?: number })
      .filter(({ msg }) => msg !== 'request');
    expect(JSON.stringify(lines).length).to.be.below(10_000);
    expect(lines.map(({ msg }) => msg)).to.deep.equal([
      'the archive is unavailable; trying again',
      'the archive is available again',
    ]);
    expect(lines[1]?.events).to.be.at.least(links.length);
    expect(await readiness()).to.deep.equal({ status: 200, state: 'up' });
    expect(double.streams.events(ownerStream)).to.have.length(1);
  });
});
