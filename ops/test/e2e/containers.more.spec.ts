import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, readdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import {
  connectionUrl,
  layoutOf,
  readPassword,
  readPostmasterPid,
} from '../../local/postgres/layout.js';
import { inContainer } from '../support/container.js';
import { launch, mainFile, readyLine, runToEnd, type RunningProcess } from '../support/process.js';
import { startEmbeddedProduct, type Product } from '../support/product.js';
import { eventually, within } from '../support/waiting.js';
import { Bench } from './harness.js';
import { folderFixture } from '../support/fixtures.js';
import { needs } from '../support/needs.js';

describe('product: containers on one volume', function () {
  this.timeout(120_000);
  needs('unshare');
  const dir = folderFixture({ per: 'test' });
  let products: Product[];

  beforeEach(async () => {
    // The account of PostgreSQL must be able to traverse it.
    await chmod(dir.path, 0o711);
    products = [];
  });

  afterEach(async () => {
    for (const product of products) await product.killTree();
  });

  const dataDir = (): string => path.join(dir.path, 'data');

  const start = async (runner: readonly string[] = inContainer): Promise<Bench> => {
    const bench = new Bench();
    bench.use(await startEmbeddedProduct({ dataDir: dataDir(), runner }));
    products.push(bench.product);
    return bench;
  };

  /** The embedded PostgreSQL of the first container. */
  const databaseUrlOf = async (): Promise<string> => {
    const layout = layoutOf(dataDir());
    const port = (await readPostmasterPid(layout))?.port ?? 0;
    return connectionUrl(port, (await readPassword(layout)) ?? '');
  };

  const childOf = (pid: number): number =>
    Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim());

  it('ends a second container on the same DATA_DIR with one line, and the first continues', async () => {
    const first = await start();
    const { key } = await first.key('PRO');
    const { shortCode } = await first.link(key);
    const second = await runToEnd({ DATA_DIR: dataDir() }, 30_000, inContainer);
    expect(second).to.include({ exitCode: 1, stdout: '' });
    expect(second.stderr).to.equal(
      `linklog: ${dataDir()} is in use by process 1 in another container or machine (host name ${hostname()})\n`,
    );
    expect((await first.visit(shortCode)).status).to.equal(302);
    expect((await first.visit((await first.link(key)).shortCode)).status).to.equal(302);
  });

  it('starts again after its container was killed, although its previous pids are in use', async () => {
    const first = await start();
    const { key } = await first.key('PRO');
    const { shortCode } = await first.link(key);
    await first.product.killTree();
    const left = (await readPostmasterPid(layoutOf(dataDir())))?.pid ?? 0;

    // Uses up the pids to that of the previous PostgreSQL.
    const shell = [
      '/bin/sh',
      '-c',
      'n=0; while [ "$n" -lt "$0" ]; do sleep 600 & n=$!; done; "$@"',
      String(left + 5),
    ];
    const second = await start([...inContainer, ...shell]);
    expect((await second.visit(shortCode)).status).to.equal(302);
    expect((await second.visit((await second.link(key)).shortCode)).status).to.equal(302);
  });

  it('does not start a second PostgreSQL when an ended process left one in another container', async () => {
    // The container and PostgreSQL outlive the service.
    const first = await start([...inContainer, '/bin/sh', '-c', '"$@"; sleep 600', 'sh']);
    const { key } = await first.key('PRO');
    const { shortCode } = await first.link(key);
    const shell = childOf(first.product.pid);
    process.kill(childOf(shell), 'SIGKILL');
    await eventually('the next program of the container runs', () => {
      return readFileSync(`/proc/${shell}/task/${shell}/children`, 'utf8')
        .trim()
        .split(' ')
        .some((pid) => readFileSync(`/proc/${pid}/comm`, 'utf8') === 'sleep\n');
    });

    const second = await runToEnd({ DATA_DIR: dataDir() }, 60_000, inContainer);
    expect(second).to.include({ exitCode: 1, stdout: '' });
    expect(second.stderr.trimEnd().split('\n').at(-1)).to.equal(
      `linklog: the PostgreSQL of ${dataDir()}/postgres/cluster still runs in another container: end that container`,
    );

    await first.product.killTree();
    const third = await start();
    expect((await third.visit(shortCode)).status).to.equal(302);
  });

  it('does not adopt the spool of a running edge in another container', async () => {
    const first = await start();
    const { key } = await first.key('PRO');
    const { shortCode } = await first.link(key);
    const visit = async (count: number): Promise<void> => {
      for (let done = 0; done < count; done += 1) {
        expect((await first.visit(shortCode)).status).to.equal(302);
      }
    };
    await visit(5);
    const { spoolRoot } = first.product;
    const [own = ''] = await readdir(spoolRoot);
    const databaseUrl = await databaseUrlOf();

    const edge: RunningProcess = launch(
      {
        DATA_DIR: path.join(dir.path, 'edge'),
        DATABASE_URL: databaseUrl,
        SPOOL_DIR: spoolRoot,
        SHORT_URL_HOST: 'http://localhost:8081',
        LOG_LEVEL: 'info',
      },
      [mainFile, 'edge'],
      inContainer,
    );
    try {
      await readyLine(edge);
      // Spools are scanned at startup.
      await eventually('two spools exist', async () => (await readdir(spoolRoot)).length === 2);
      await visit(5);
      expect(existsSync(path.join(spoolRoot, own)), 'the spool of the first edge').to.equal(true);
      await first.expectClicks(shortCode, key, 10);
      expect(edge.stderr()).not.to.include('the spool of an ended process is adopted');
    } finally {
      edge.child.kill('SIGKILL');
      await edge.ended;
    }
  });

  it('ends a second machine on a copied DATA_DIR and the same database with one line', async () => {
    await start();
    const env = {
      DATABASE_URL: await databaseUrlOf(),
      SHORT_URL_HOST: 'http://localhost:8081',
      LOG_LEVEL: 'warn',
    };
    const shared = path.join(dir.path, 'shared');
    const first = launch({ ...env, DATA_DIR: shared }, [mainFile, 'edge']);
    try {
      await readyLine(first);
      // As on another machine: the Unix domain socket of the first process is dead there.
      const mounted = path.join(dir.path, 'mounted');
      await promisify(execFile)('cp', ['-a', shared, mounted]);
      const second = launch({ ...env, DATA_DIR: mounted }, [mainFile, 'edge']);
      const { exitCode, stdout, stderr } = await within(
        60_000,
        'the second process ends',
        second.ended,
      );
      expect({ exitCode, stdout }).to.deep.equal({ exitCode: 1, stdout: '' });
      expect(stderr).to.equal(
        `linklog: ${mounted} is in use by process ${first.child.pid ?? 0} ` +
          `in another container or machine (host name ${hostname()})\n`,
      );
    } finally {
      first.child.kill('SIGTERM');
      await first.ended;
    }
  });
});
