import { expect } from 'chai';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { validate as isUuid } from 'uuid';
import { adminTokenOf, knownAdminToken, openDataDir, publishedAddresses } from './data-dir.js';
import { ConfigError } from '../platform/errors.js';
import { LockHeld } from '../platform/process/process-lock.js';
import { rejection } from '../test/support/waiting.js';
import { folderFixture } from '../test/support/fixtures.js';

describe('composition root: data directory', () => {
  const folder = folderFixture({ per: 'test' });
  let dataDir: string;

  beforeEach(() => {
    dataDir = path.join(folder.path, 'deep', 'data');
  });

  it('is created with its parents and mode 0700, or fails with a ConfigError', async () => {
    (await openDataDir(dataDir)).release();
    expect(statSync(dataDir).mode & 0o777).to.equal(0o700);
    const file = path.join(folder.path, 'file');
    writeFileSync(file, '');
    const error = await rejection(openDataDir(path.join(file, 'data')));
    expect(error).to.be.instanceOf(ConfigError);
    expect((error as Error).message).to.match(/^DATA_DIR [^\n]+$/);
  });

  it('is locked until its release', async () => {
    const first = await openDataDir(dataDir);
    const error = await rejection(openDataDir(dataDir, { waitMs: 100 }));
    expect(error).to.be.instanceOf(LockHeld);
    expect((error as LockHeld).message).to.equal(`${dataDir} is in use by process ${process.pid}`);
    const opening = openDataDir(dataDir);
    first.release();
    (await opening).release();
  });

  it('publishes the addresses of the service only while it runs', async () => {
    const lockedDir = await openDataDir(dataDir);
    expect(await publishedAddresses(dataDir)).to.equal(null);
    const addresses = { api: 'http://a', edge: 'http://e', admin: 'http://x', pid: process.pid };
    lockedDir.publish(addresses);
    expect(await publishedAddresses(dataDir)).to.deep.equal(addresses);
    lockedDir.release();
    expect(await publishedAddresses(dataDir)).to.equal(null);
  });

  it('stores an id, and replaces an empty file of a power loss', async () => {
    const lockedDir = await openDataDir(dataDir);
    const id = lockedDir.id();
    expect(isUuid(id)).to.equal(true);
    expect(lockedDir.id()).to.equal(id);
    writeFileSync(path.join(dataDir, 'id'), '');
    const another = lockedDir.id();
    expect(isUuid(another)).to.equal(true);
    expect(lockedDir.id()).to.equal(another);
    lockedDir.release();
    expect(readdirSync(dataDir)).to.deep.equal(['id']);
  });

  it('stores an admin token with mode 0600, and replaces an empty file of a full disk', async () => {
    (await openDataDir(dataDir)).release();
    const file = path.join(dataDir, 'admin-token');
    for (const isEmpty of [false, true]) {
      if (isEmpty) writeFileSync(file, '\n');
      expect(knownAdminToken(dataDir)).to.equal(null);
      const token = adminTokenOf(dataDir);
      expect(token).to.match(/^[\w-]{43}$/);
      expect(statSync(file).mode & 0o777).to.equal(0o600);
      expect(readFileSync(file, 'utf8').trim()).to.equal(token);
      for (const read of [adminTokenOf, knownAdminToken]) expect(read(dataDir)).to.equal(token);
    }
  });
});
