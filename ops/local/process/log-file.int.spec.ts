import { expect } from 'chai';
import { closeSync, readFileSync, symlinkSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { folderFixture } from '../../test/support/fixtures.js';
import { cutLogFile, openLogFile, tailOf } from './child.js';

describe('local servers: log file', () => {
  const dir = folderFixture({ per: 'test' });
  let path: string;

  beforeEach(() => {
    path = join(dir.path, 'postgres.log');
  });

  it('starts empty, and renames the previous file', async () => {
    writeFileSync(path, 'before');
    const log = await openLogFile(path);
    closeSync(log);
    expect(readFileSync(path, 'utf8')).to.equal('');
    expect(readFileSync(`${path}.1`, 'utf8')).to.equal('before');
  });

  it('is not written through a symbolic link', async () => {
    const victim = join(dir.path, 'victim');
    writeFileSync(victim, 'unchanged');
    symlinkSync(victim, path);
    const log = await openLogFile(path);
    writeSync(log, 'new');
    closeSync(log);
    expect(readFileSync(victim, 'utf8')).to.equal('unchanged');
    expect(readFileSync(path, 'utf8')).to.equal('new');
  });

  it('is truncated while its writer continues', async () => {
    const log = await openLogFile(path);
    writeSync(log, 'x'.repeat(100));
    await cutLogFile(path, 100);
    expect(readFileSync(path, 'utf8')).to.have.length(100);
    writeSync(log, 'y');
    await cutLogFile(path, 100);
    writeSync(log, 'z');
    closeSync(log);
    expect(readFileSync(path, 'utf8')).to.equal('z');
    expect(readFileSync(`${path}.1`, 'utf8')).to.equal(`${'x'.repeat(100)}y`);
  });

  it('returns its last lines', async () => {
    const lines = Array.from({ length: 40 }, (_, n) => `line ${n}\n`);
    writeFileSync(path, lines.join(''));
    expect((await tailOf(path)).split('\n')).to.have.length(15);
    expect(await tailOf(path)).to.match(/\nline 38\nline 39$/);
    writeFileSync(path, '');
    expect(await tailOf(path)).to.equal('');
  });
});
