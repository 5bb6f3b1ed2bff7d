import { expect } from 'chai';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { operatorNameIn } from '../../../schemas/http/operators.js';
import { codePoint } from '../../../schemas/testing/code-point.js';
import { openDataDir } from '../../app/data-dir.js';
import { readConfig } from '../../config/config.js';
import { ConfigError } from '../../platform/errors.js';
import { folderFixture } from '../../test/support/fixtures.js';
import { rejection } from '../../test/support/waiting.js';
import { CliError } from './errors.js';
import { actorArgument, findService, operatorNameOf } from './service.js';

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

describe('CLI: name of the operator', () => {
  it('is that of the user, without control characters, and with a prefix if it is reserved', () => {
    for (const [user, name] of [
      ['ada', 'ada'],
      ['DOMAIN\\Ada Løvelace ', 'DOMAIN\\Ada Løvelace'],
      ['Zoe\u0308', 'Zo\u00eb'],
      ['a\nb\u0000\ud800', 'ab'],
      ['x'.repeat(80), 'x'.repeat(64)],
      ['😀'.repeat(80), '😀'.repeat(64)],
      ['\u200b ', 'unknown'],
      ['SYSTEM', 'user-SYSTEM'],
      ['web-safety', 'user-web-safety'],
    ] as const) {
      expect(operatorNameOf(user)).to.equal(name);
    }
  });

  it('is valid for every user', () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint, maxLength: 100 }), (user) => {
        const name = operatorNameOf(user);
        expect(operatorNameIn('actor').parse(name)).to.equal(name);
      }),
      { numRuns: 50 },
    );
  });

  it('is that of the command line, unless it is reserved or invalid', () => {
    expect(actorArgument(' Zoe\u0308 Müller ')).to.equal('Zo\u00eb Müller');
    expect(() => actorArgument('System')).to.throw('--actor must not be system');
    for (const name of ['', ' ', 'a\nb', 'x'.repeat(65)]) {
      expect(() => actorArgument(name), name).to.throw('--actor must have 1 to 64 characters');
    }
  });
});
