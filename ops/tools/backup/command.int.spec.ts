import { expect } from 'chai';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { takeBackup } from './backup.js';
import { writeNewFile } from '../../platform/files/new-file.js';
import { testNode } from '../../test/support/node.js';
import { startLinklogCli } from '../../test/support/process.js';
import { databaseFixture, folderFixture } from '../../test/support/fixtures.js';

describe('backup: linklog restore into DATABASE_URL', () => {
  const database = databaseFixture('restoring');
  const dir = folderFixture();

  before(async () => {
    const node = await testNode(database);
    const file = path.join(dir.path, 'empty.backup');
    await takeBackup({
      ...node,
      spoolRoot: path.join(dir.path, 'spool'),
      target: (write) => writeNewFile(file, { replace: false }, write),
    });
    await node.close();
  });

  it('is rejected while a service of another data directory is connected', async () => {
    // The pool of this test has the application name of a service.
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
