import { expect } from 'chai';
import { cp, lstat, mkdir, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { pausePostgres } from '../../test/support/pause-postgres.js';
import { Bench } from '../../test/e2e/harness.js';
import { runLinklogCli } from '../../test/support/command-line.js';
import { startLinklogCli, temporaryDir, type CommandOutput } from '../../test/support/process.js';
import { startEmbeddedProduct } from '../../test/support/product.js';

describe('CLI: spools of a removed edge', () => {
  const bench = new Bench();
  const visits = 50;
  let dataDir: string;
  let left: string;
  let key: string;
  let code: string;

  const start = async (): Promise<void> => {
    bench.use(await startEmbeddedProduct({ dataDir }));
  };
  const ship = (...args: readonly string[]): Promise<CommandOutput> =>
    startLinklogCli(['spool', 'ship', ...args], { DATA_DIR: dataDir }).ended;
  /** Skips the lock socket of a killed process, which `cp` cannot copy. */
  const copy = (from: string, to: string): Promise<void> =>
    cp(from, to, {
      recursive: true,
      filter: async (file) => !(await lstat(file)).isSocket(),
    });
  const copyOf = async (name: string): Promise<readonly [string, string]> => {
    const root = path.join(dataDir, 'copies', name);
    await copy(left, root);
    const [spool = ''] = await readdir(root);
    return [root, spool];
  };

  before('kill an edge with unshipped visits, and move its spool away', async () => {
    dataDir = await temporaryDir();
    await start();
    ({ key } = await bench.key('PRO'));
    code = (await bench.link(key)).shortCode;
    await bench.visit(code);
    await bench.expectClicks(code, key, 1);
    const resume = await pausePostgres(bench.product);
    try {
      const responses = await Promise.all(Array.from({ length: visits }, () => bench.visit(code)));
      expect(responses.every(({ status }) => status === 302)).to.equal(true);
      await bench.product.killTree();
    } finally {
      resume();
    }
    left = path.join(dataDir, 'left');
    await copy(bench.product.spoolRoot, left);
    await rm(bench.product.spoolRoot, { recursive: true });
  });
  after(async () => {
    await bench.end();
    await rm(dataDir, { recursive: true });
  });

  it('leaves the spool unchanged while the log is unavailable', async () => {
    const output = await ship(left);
    expect(output).to.include({ exitCode: 1, stdout: '' });
    expect(output.stderr).to.match(/^linklog: no embedded PostgreSQL runs in [^\n]+\n$/);
    expect(await readdir(left)).to.have.length(1);
  });

  it('ships while the service runs, and deletes the spool', async () => {
    const [root, spool] = await copyOf('first');
    await start();
    const stdout = `${spool}: ${visits} visits shipped\n`;
    expect(await ship(root)).to.deep.equal({ exitCode: 0, stdout, stderr: '' });
    expect(await readdir(root)).to.deep.equal([]);
    await bench.expectClicks(code, key, 1 + visits);
  });

  it('ships a second copy without counting its visits again', async () => {
    const [root, spool] = await copyOf('second');
    const output = await ship(path.join(root, spool), '--json');
    expect(output).to.include({ exitCode: 0, stderr: '' });
    expect(JSON.parse(output.stdout)).to.deep.equal({
      spools: [{ spool, status: 'shipped', visits, damaged: 0, reason: null }],
    });
    await bench.visit(code);
    await bench.expectClicks(code, key, 2 + visits);
  });

  it('reports a directory without a spool', async () => {
    const [empty, missing, file] = ['empty', 'missing', 'admin-token'].map((name) =>
      path.join(dataDir, name),
    ) as [string, string, string];
    const inside = path.join(empty, 'spool');
    await mkdir(inside, { recursive: true });
    for (const [dir, line] of [
      [missing, `${missing} does not exist`],
      [file, `${file} is not a folder`],
      [empty, `there is no spool in ${empty}; did you mean ${inside}?`],
      [inside, `there is no spool in ${inside}`],
    ] as const) {
      const output = await runLinklogCli(['spool', 'ship', dir], { DATA_DIR: dataDir });
      expect(output).to.deep.equal({ exitCode: 1, stdout: '', stderr: `linklog: ${line}\n` });
    }
  });
});
