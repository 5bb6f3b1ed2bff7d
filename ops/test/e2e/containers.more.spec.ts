import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import path from 'node:path';
import { layoutOf, readPostmasterPid } from '../../local/postgres/layout.js';
import { inContainer } from '../support/container.js';
import { runToEnd } from '../support/process.js';
import { startEmbeddedProduct, type Product } from '../support/product.js';
import { eventually } from '../support/waiting.js';
import { Bench } from './harness.js';
import { folderFixture } from '../support/fixtures.js';

describe('product: containers on one volume', function () {
  this.timeout(120_000);
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

  const childOf = (pid: number): number =>
    Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim());

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
});
