import { expect } from 'chai';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { openDataDir } from '../../app/data-dir.js';
import { readConfig } from '../../config/config.js';
import { ConfigError } from '../../platform/process/config-error.js';
import { folderFixture } from '../../test/support/fixtures.js';
import { rejection } from '../../test/support/waiting.js';
import { CliError } from './errors.js';
import { findService } from './service.js';

describe('CLI: discovery of the service', () => {
  const dataDir = folderFixture({ per: 'test' });

  const find = (env: Record<string, string> = {}) =>
    findService(readConfig({ DATA_DIR: dataDir.path, ...env }));

  const expectUrl = async (url: string, env: Record<string, string> = {}): Promise<void> => {
    expect((await find(env)).url).to.equal(url);
  };

  const [api, edge, admin] = ['http://127.0.0.1:1001', 'http://127.0.0.1:1002', 'http://[::1]:3'];
  const addresses = { api, edge, admin, pid: process.pid };

  it('prefers the published address of a running service to the configuration', async () => {
    const lockedDir = await openDataDir(dataDir.path);
    lockedDir.publish(addresses);
    await expectUrl(admin, { ADMIN_PORT: '9999' });
    lockedDir.release();
    await expectUrl('http://127.0.0.1:9999', { ADMIN_PORT: '9999' });
  });

  it('ignores the address that a killed service left', async () => {
    writeFileSync(path.join(dataDir.path, 'service.json'), JSON.stringify(addresses));
    await expectUrl('http://127.0.0.1:8082');
    // Its successor is not ready yet.
    const lockedDir = await openDataDir(dataDir.path);
    await expectUrl('http://127.0.0.1:8082');
    lockedDir.release();
  });

  it('replaces a wildcard address by a loopback address', async () => {
    await expectUrl('http://127.0.0.1:5', { ADMIN_HOST: '0.0.0.0', ADMIN_PORT: '5' });
    await expectUrl('http://[::1]:5', { ADMIN_HOST: '::', ADMIN_PORT: '5' });
  });

  it('fails for port 0 without a published address, and for a file as DATA_DIR', async () => {
    const error = await rejection(find({ ADMIN_PORT: '0' }));
    expect(error).to.be.instanceOf(CliError);
    expect((error as CliError).message).to.equal(
      `the service has no address (ADMIN_PORT=0), and none runs in DATA_DIR ${dataDir.path}: start it, ` +
        'or set DATA_DIR to its data directory, or ADMIN_HOST and ADMIN_PORT to its address',
    );
    const file = path.join(dataDir.path, 'file');
    writeFileSync(file, '');
    const invalid = await rejection(find({ DATA_DIR: file }));
    expect(invalid).to.be.instanceOf(ConfigError);
    expect((invalid as ConfigError).message).to.include(`${file} is not a directory`);
  });

  it('uses ADMIN_TOKEN, otherwise the token of the data directory', async () => {
    expect((await find()).token).to.be.null;
    writeFileSync(path.join(dataDir.path, 'admin-token'), 'from-the-directory\n');
    expect((await find()).token).to.equal('from-the-directory');
    const ADMIN_TOKEN = 'from-the-environment';
    expect((await find({ ADMIN_TOKEN })).token).to.equal(ADMIN_TOKEN);
  });
});
