import { expect } from 'chai';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { takeBackup } from './backup.js';
import { testDatabase, type TestDatabase } from '../../test/support/database.js';
import { testNode } from '../../test/support/node.js';
import { startLinklogCli } from '../../test/support/process.js';

describe('backup: linklog restore, into a PostgreSQL of one’s own', () => {
  let database: TestDatabase;
  let dir: string;

  before(async () => {
    dir = await mkdtemp(path.join(tmpdir(), 'linklog-test-'));
    database = await testDatabase('restoring');
    const node = await testNode(database);
    const file = path.join(dir, 'empty.backup');
    await takeBackup({ ...node, spoolRoot: path.join(dir, 'spool'), file, replace: false });
    await node.close();
  });

  after(async () => {
    await database.drop();
    await rm(dir, { recursive: true });
  });

  it('is refused while a service of another data directory is connected to it', async () => {
    // The pool of this test is named as a service's are.
    await database.pool.query('SELECT');
    const { exitCode, stderr } = await startLinklogCli(
      ['restore', path.join(dir, 'empty.backup')],
      { DATA_DIR: path.join(dir, 'data'), DATABASE_URL: database.url },
    ).ended;
    expect([exitCode, stderr.trimEnd().split('\n').at(-1)]).to.deep.equal([
      1,
      'linklog: the database of DATABASE_URL is in use by a running service: stop it first',
    ]);
    expect(await readdir(path.join(dir, 'data'))).to.deep.equal([]);
  });
});
