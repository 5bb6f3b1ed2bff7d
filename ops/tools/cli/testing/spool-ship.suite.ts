import { expect } from 'chai';
import { cp, lstat, mkdir, readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { acquireLock } from '../../../platform/process/process-lock.js';
import { Bench } from '../../../test/e2e/harness.js';
import {
  startLinklogCli,
  stopProcess,
  temporaryDir,
  type CommandOutput,
} from '../../../test/support/process.js';
import { startEmbeddedProduct, type Product } from '../../../test/support/product.js';
import { eventuallyPasses } from '../../../test/support/waiting.js';

/** The log of the product under test. */
export interface LogOfProduct {
  readonly env: Readonly<Record<string, string>>;
  /** Stops the log and returns a function that resumes it. */
  readonly pause: (product: Product) => Promise<() => void>;
}

/** The embedded log is PostgreSQL. */
export const pausePostgres = async ({ dataDir }: Product): Promise<() => void> => {
  const pidFile = path.join(dataDir, 'postgres/cluster/postmaster.pid');
  return stopProcess(Number((await readFile(pidFile, 'utf8')).split('\n')[0]));
};

/** Specifies `linklog spool ship` for both logs. */
export const describeSpoolShip = (open: () => Promise<LogOfProduct>): void => {
  const bench = new Bench();
  const visits = 50;
  let log: LogOfProduct;
  let dataDir: string;
  let left: string;
  let key: string;
  let code: string;

  const start = async (): Promise<void> => {
    bench.use(await startEmbeddedProduct({ dataDir, env: log.env }));
  };
  const ship = (...args: readonly string[]): Promise<CommandOutput> =>
    startLinklogCli(['spool', 'ship', ...args], { ...log.env, DATA_DIR: dataDir }).ended;
  /** Skips the lock socket of a killed process, which `cp` cannot copy. */
  const copy = (from: string, to: string): Promise<void> =>
    cp(from, to, {
      recursive: true,
      filter: async (file) => !(await lstat(file)).isSocket(),
    });
  const copyOf = async (name: string): Promise<string> => {
    const dir = path.join(dataDir, 'copies', name);
    await copy(left, dir);
    return dir;
  };
  const expectClicks = (count: number): Promise<void> =>
    eventuallyPasses(async () => {
      expect((await bench.stats(code, key)).clickCount).to.equal(count);
    });

  before('kill an edge with unshipped visits, and move its spool away', async () => {
    log = await open();
    dataDir = await temporaryDir();
    await start();
    ({ key } = await bench.key('PRO'));
    code = (await bench.link(key)).shortCode;
    await bench.visit(code);
    await expectClicks(1);
    const resume = await log.pause(bench.product);
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
    const said = await ship(left);
    expect(said).to.include({ exitCode: 1, stdout: '' });
    expect(said.stderr).to.match(/^linklog: no embedded PostgreSQL runs in [^\n]+\n$/);
    expect(await readdir(left)).to.have.length(1);
  });

  it('ships while the service runs, and deletes the spool', async () => {
    const copy = await copyOf('first');
    await start();
    const [spool = ''] = await readdir(copy);
    expect(await ship(copy)).to.deep.equal({
      exitCode: 0,
      stdout: `${spool}: ${visits} visits shipped\n`,
      stderr: '',
    });
    expect(await readdir(copy)).to.deep.equal([]);
    await expectClicks(1 + visits);
  });

  it('ships a second copy without counting its visits again', async () => {
    const copy = await copyOf('second');
    const [spool = ''] = await readdir(copy);
    const said = await ship(path.join(copy, spool), '--json');
    expect(said).to.include({ exitCode: 0, stderr: '' });
    expect(JSON.parse(said.stdout)).to.deep.equal({
      spools: [{ spool, status: 'shipped', visits, damaged: 0, reason: null }],
    });
    await bench.visit(code);
    await expectClicks(2 + visits);
  });

  it('names the process that locks a spool, and ships the others', async () => {
    const root = await copyOf('third');
    const [spool = ''] = await readdir(root);
    const locked = spool.replace(/^./, '1');
    await copy(path.join(root, spool), path.join(root, locked));
    const lock = await acquireLock(path.join(root, locked));
    try {
      const { exitCode, stdout } = await ship(root);
      expect(exitCode).to.equal(1);
      expect(stdout).to.include(`${spool}: ${visits} visits shipped\n`);
      expect(stdout).to.include(`${locked}: 0 visits shipped, then stopped: `);
      expect(stdout).to.include(`is in use by process ${process.pid}\n`);
      expect(await readdir(root)).to.deep.equal([locked]);
    } finally {
      lock.release();
    }
  });

  it('reports a directory without a spool', async () => {
    const empty = path.join(dataDir, 'empty');
    await mkdir(path.join(empty, 'spool'), { recursive: true });
    for (const [dir, line] of [
      [path.join(dataDir, 'missing'), `${path.join(dataDir, 'missing')} does not exist`],
      [path.join(dataDir, 'admin-token'), `${path.join(dataDir, 'admin-token')} is not a folder`],
      [empty, `there is no spool in ${empty}; did you mean ${path.join(empty, 'spool')}?`],
      [path.join(empty, 'spool'), `there is no spool in ${path.join(empty, 'spool')}`],
    ] as const) {
      const said = await ship(dir);
      expect(said).to.deep.equal({ exitCode: 1, stdout: '', stderr: `linklog: ${line}\n` });
    }
  });
};
