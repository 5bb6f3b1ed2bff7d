import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { projectFile } from '../../platform/files/project-file.js';
import { productFixture } from '../../test/e2e/harness.js';
import { eventStoreFixture } from '../../test/support/fixtures.js';
import { startLinklogCli } from '../../test/support/process.js';
import { eventuallyPasses } from '../../test/support/waiting.js';

const script = projectFile('ops', 'docs', 'examples', 'archive.mjs');

describe('archive: the archive of a running product', () => {
  const double = eventStoreFixture();
  const bench = productFixture(() => ({ EVENTSTORE_URL: double.url }));

  const ask = async (moment: string): Promise<readonly string[]> => {
    const args = [script, double.url, 'counted', moment];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    return stdout.trimEnd().split('\n');
  };

  it('is equal to the log, and answers the questions of analysts', async () => {
    const { key, id } = await bench.key('PRO');
    const first = await bench.link(key, { alias: 'counted' });
    for (const headers of [{}, {}, { 'User-Agent': 'Googlebot/2.1' }]) {
      expect((await bench.visit('counted', { headers })).status).to.equal(302);
    }
    await bench.expectClicks('counted', key, 2);
    const second = 'https://example.com/second';
    expect((await bench.change('counted', key, { url: second })).status).to.equal(200);
    await bench.admin('POST', '/admin/links/counted/block', { reason: 'phishing' });
    const now = new Date().toISOString();

    await eventuallyPasses(async () => {
      const lines = await ask(now);
      expect(lines.slice(0, -2).map((line) => line.replace(/ \S+Z /, ' '))).to.deep.equal([
        ...[`0 LinkCreated by ${id}`, `1 LinkEdited by ${id}`, '2 LinkBlocked by admin'],
      ]);
      const { clickCount } = await bench.stats('counted', key);
      expect(lines.slice(-2)).to.deep.equal([
        `at ${now}: active, ${second}`,
        `clicks: ${clickCount}`,
      ]);
    }, 30_000);
    const times = (await ask(now)).map((line) => line.split(' ')[1] ?? '');
    const atFirst = await ask(times[0] ?? '');
    expect(atFirst.at(-2)).to.equal(`at ${times[0] ?? ''}: active, ${first.url}`);
    expect((await ask('2020-01-01')).at(-2)).to.equal('at 2020-01-01T00:00:00.000Z: no link');

    const env = { DATA_DIR: bench.product.dataDir, EVENTSTORE_URL: double.url };
    const { exitCode, stdout, stderr } = await startLinklogCli(['archive', 'verify'], env).ended;
    expect(stdout).to.match(/ 0 missing, 0 foreign, 0 different\n$/);
    expect(stderr).to.match(/^archive: [\d,]+ of [\d,]+ events \(\d+ %\)\n/);
    expect(exitCode).to.equal(0);
  });
});
