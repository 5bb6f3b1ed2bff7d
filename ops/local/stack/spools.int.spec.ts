import { expect } from 'chai';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createLogger } from '../../platform/logging.js';
import { gatherSpools } from './spools.js';
import { serviceDir } from './topology.js';
import { folderFixture } from '../../test/support/fixtures.js';

describe('local servers: spools of an earlier version', () => {
  const logger = createLogger('silent');
  const dataDir = folderFixture({ per: 'test' });

  const leave = async (edge: number, spool: string): Promise<void> => {
    const dir = join(serviceDir(dataDir.path, 'edge', edge), 'spool', spool);
    await mkdir(dir, { recursive: true });
    await writeFile(join(dir, 'visits'), spool);
  };

  it('are moved to the common root, including those of edges that are not started', async () => {
    const root = join(dataDir.path, 'spool');
    await leave(0, 'one');
    await leave(0, 'two');
    await leave(7, 'three');
    await gatherSpools(dataDir.path, root, logger);
    // The second call changes nothing.
    await gatherSpools(dataDir.path, root, logger);
    expect((await readdir(root)).sort()).to.deep.equal(['one', 'three', 'two']);
    expect(await readFile(join(root, 'three', 'visits'), 'utf8')).to.equal('three');
    expect(await readdir(serviceDir(dataDir.path, 'edge', 0))).to.deep.equal([]);
  });

  it('do not exist in a new data directory', async () => {
    await gatherSpools(dataDir.path, join(dataDir.path, 'spool'), logger);
    expect(await readdir(dataDir.path)).to.deep.equal([]);
  });
});
