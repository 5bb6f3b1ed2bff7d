import { expect } from 'chai';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { takeBackup } from './backup.js';
import { testNode } from '../../test/support/node.js';
import { startLinklogCli } from '../../test/support/process.js';
import { databaseFixture, folderFixture } from '../../test/support/fixtures.js';

describe('backup: linklog restore, into a PostgreSQL of one’s own', () => {
  const database = databaseFixture('restoring');
  const dir = folderFixture();

  before(async () => {
    const node = await testNode(database);
    const file = path.join(dir.path, 'empty.backup');
    await takeBackup({ ...node, spoolRoot: path.join(dir.path, 'spool'), file, replace: false });
    await node.close();
  });

  it('is refused while a service of another data directory is connected to it', async () => {
    // The pool of this test is named as a service's are.
    await database.pool.query('SELECT');
    const { exitCode, stderr } = await startLinklogCli(
      ['restore', path.join(dir.path, 'empty.backup')],
      { DATA_DIR: path.join(dir.path, 'data'), DATABASE_URL: database.url },
    ).ended;
    expect([exitCode, stderr.trimEnd().split('\n').at(-1)]).to.deep.equal([
      1,
      'linklog: the database of DATABASE_URL is in use by a running service: stop it first',
    ]);
    expect(await readdir(path.join(dir.path, 'data'))).to.deep.equal([]);
  });
});
