import { expect } from 'chai';
import fc from 'fast-check';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { openDataDir } from '../../app/data-dir.js';
import { ConfigError } from '../../platform/process/config-error.js';
import { readConfig } from '../../config/config.js';
import { rejection } from '../../test/support/waiting.js';
import { CliError } from './errors.js';
import { operatorNameIn } from '../../../schemas/http/operators.js';
import { actorArgument, findService, operatorNameOf } from './service.js';
import { folderFixture } from '../../test/support/fixtures.js';
import { codePoint } from '../../../schemas/testing/code-point.js';

describe('CLI: discovery of the service', () => {
  const dataDir = folderFixture({ per: 'test' });

  const find = (env: Record<string, string> = {}) =>
    findService(readConfig({ DATA_DIR: dataDir.path, ...env }));

  const addresses = {
    api: 'http://127.0.0.1:1001',
    edge: 'http://127.0.0.1:1002',
    admin: 'http://127.0.0.1:1003',
    pid: process.pid,
  };

  it('prefers the published address of a running service to the configuration', async () => {
    const lockedDir = await openDataDir(dataDir.path);
    lockedDir.publish(addresses);
    expect((await find({ ADMIN_PORT: '9999' })).url).to.equal('http://127.0.0.1:1003');
    lockedDir.release();
    expect((await find({ ADMIN_PORT: '9999' })).url).to.equal('http://127.0.0.1:9999');
  });

  it('ignores the address that a killed service left', async () => {
    writeFileSync(path.join(dataDir.path, 'service.json'), JSON.stringify(addresses));
    expect((await find()).url).to.equal('http://127.0.0.1:8082');
    // Its successor is not ready yet.
    const lockedDir = await openDataDir(dataDir.path);
    expect((await find()).url).to.equal('http://127.0.0.1:8082');
    lockedDir.release();
  });

  it('replaces a wildcard address by a loopback address', async () => {
    expect((await find({ ADMIN_HOST: '0.0.0.0', ADMIN_PORT: '5' })).url).to.equal(
      'http://127.0.0.1:5',
    );
    expect((await find({ ADMIN_HOST: '::', ADMIN_PORT: '5' })).url).to.equal('http://[::1]:5');
  });

  it('fails for port 0 without a published address', async () => {
    const error = await rejection(find({ ADMIN_PORT: '0' }));
    expect(error).to.be.instanceOf(CliError);
    expect((error as CliError).message).to.equal(
      `the service has no address (ADMIN_PORT=0), and none runs in DATA_DIR ${dataDir.path}: start it, ` +
        'or set DATA_DIR to its data directory, or ADMIN_HOST and ADMIN_PORT to its address',
    );
  });

  it('uses ADMIN_TOKEN, otherwise the token of the data directory', async () => {
    expect((await find()).token).to.be.null;
    writeFileSync(path.join(dataDir.path, 'admin-token'), 'from-the-directory\n');
    expect((await find()).token).to.equal('from-the-directory');
    expect((await find({ ADMIN_TOKEN: 'from-the-environment' })).token).to.equal(
      'from-the-environment',
    );
  });

  it('rejects a file as DATA_DIR', async () => {
    const file = path.join(dataDir.path, 'file');
    writeFileSync(file, '');
    const error = await rejection(find({ DATA_DIR: file }));
    expect(error).to.be.instanceOf(ConfigError);
    expect((error as ConfigError).message).to.include(`${file} is not a directory`);
  });

  it('makes a name of the user, with spaces and Unicode, without control characters', () => {
    expect(operatorNameOf('ada')).to.equal('ada');
    expect(operatorNameOf('DOMAIN\\Ada Løvelace ')).to.equal('DOMAIN\\Ada Løvelace');
    expect(operatorNameOf('Zoe\u0308')).to.equal('Zo\u00eb');
    expect(operatorNameOf('a\nb\u0000\ud800')).to.equal('ab');
    expect(operatorNameOf('x'.repeat(80))).to.have.length(64);
    expect(operatorNameOf('😀'.repeat(80))).to.equal('😀'.repeat(64));
    expect(operatorNameOf('\u200b ')).to.equal('unknown');
  });

  it('makes a valid name of every user', () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint, maxLength: 100 }), (user) => {
        const name = operatorNameOf(user);
        expect(operatorNameIn('actor').parse(name)).to.equal(name);
      }),
    );
  });

  it('is a name on the command line, unless it is reserved or invalid', () => {
    expect(actorArgument(' Zoe\u0308 Müller ')).to.equal('Zo\u00eb Müller');
    expect(() => actorArgument('System')).to.throw('--actor must not be system');
    for (const name of ['', ' ', 'a\nb', 'x'.repeat(65)]) {
      expect(() => actorArgument(name), name).to.throw('--actor must have 1 to 64 characters');
    }
  });

  it('prefixes a reserved operator name', () => {
    expect(operatorNameOf('SYSTEM')).to.equal('user-SYSTEM');
    expect(operatorNameOf('web-safety')).to.equal('user-web-safety');
  });
});
