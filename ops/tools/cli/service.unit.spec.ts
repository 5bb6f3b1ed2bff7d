import { expect } from 'chai';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { openDataDir } from '../../app/data-dir.js';
import { ConfigError } from '../../platform/process/config-error.js';
import { readConfig } from '../../config/config.js';
import { rejection } from '../../test/support/waiting.js';
import { CliError } from './errors.js';
import { findService, operatorNameOf } from './service.js';
import { folderFixture } from '../../test/support/fixtures.js';

describe('CLI: where the service is', () => {
  const dataDir = folderFixture({ per: 'test' });

  const find = (env: Record<string, string> = {}) =>
    findService(readConfig({ DATA_DIR: dataDir.path, ...env }));

  const addresses = {
    api: 'http://127.0.0.1:1001',
    edge: 'http://127.0.0.1:1002',
    admin: 'http://127.0.0.1:1003',
    pid: process.pid,
  };

  it('is what the running one has published, whatever the configuration', async () => {
    const held = await openDataDir(dataDir.path);
    held.publish(addresses);
    expect((await find({ ADMIN_PORT: '9999' })).url).to.equal('http://127.0.0.1:1003');
    held.release();
    expect((await find({ ADMIN_PORT: '9999' })).url).to.equal('http://127.0.0.1:9999');
  });

  it('is not what one that was killed has left: the token is not for strangers', async () => {
    writeFileSync(path.join(dataDir.path, 'service.json'), JSON.stringify(addresses));
    expect((await find()).url).to.equal('http://127.0.0.1:8082');
    // Nor while its successor is not ready yet.
    const held = await openDataDir(dataDir.path);
    expect((await find()).url).to.equal('http://127.0.0.1:8082');
    held.release();
  });

  it('is an address that can be connected to', async () => {
    expect((await find({ ADMIN_HOST: '0.0.0.0', ADMIN_PORT: '5' })).url).to.equal(
      'http://127.0.0.1:5',
    );
    expect((await find({ ADMIN_HOST: '::', ADMIN_PORT: '5' })).url).to.equal('http://[::1]:5');
  });

  it('is nowhere when any port would do and none is published', async () => {
    const error = await rejection(find({ ADMIN_PORT: '0' }));
    expect(error).to.be.instanceOf(CliError);
    expect((error as CliError).message).to.include('no service runs on');
  });

  it('is opened by ADMIN_TOKEN, else by the token of the data directory, if there is one', async () => {
    expect((await find()).token).to.be.null;
    writeFileSync(path.join(dataDir.path, 'admin-token'), 'from-the-directory\n');
    expect((await find()).token).to.equal('from-the-directory');
    expect((await find({ ADMIN_TOKEN: 'from-the-environment' })).token).to.equal(
      'from-the-environment',
    );
  });

  it('is not in a file', async () => {
    const file = path.join(dataDir.path, 'file');
    writeFileSync(file, '');
    const error = await rejection(find({ DATA_DIR: file }));
    expect(error).to.be.instanceOf(ConfigError);
    expect((error as ConfigError).message).to.include(`${file} is not a directory`);
  });

  it('hears a name of visible characters only', () => {
    expect(operatorNameOf('ada')).to.equal('ada');
    expect(operatorNameOf('DOMAIN\\Ada Løvelace')).to.equal('DOMAIN\\AdaLvelace');
    expect(operatorNameOf('x'.repeat(80))).to.have.length(64);
    expect(operatorNameOf('Ώ ')).to.equal('unknown');
  });

  it('hears no name of its own', () => {
    expect(operatorNameOf('SYSTEM')).to.equal('user-SYSTEM');
    expect(operatorNameOf('web-safety')).to.equal('user-web-safety');
  });
});
