import { expect } from 'chai';
import {
  closeSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cutLogFile, openLogFile, tailOf } from './log-file.js';

describe('local servers: log file of a server', () => {
  let dir: string;
  let path: string;

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'linklog-log-'));
    path = join(dir, 'postgres.log');
  });

  afterEach(() => {
    rmSync(dir, { recursive: true });
  });

  it('begins anew, and keeps the one before', async () => {
    writeFileSync(path, 'before');
    const log = await openLogFile(path);
    closeSync(log);
    expect(readFileSync(path, 'utf8')).to.equal('');
    expect(readFileSync(`${path}.1`, 'utf8')).to.equal('before');
  });

  it('is never written through a link that somebody laid there', async () => {
    const victim = join(dir, 'victim');
    writeFileSync(victim, 'untouched');
    symlinkSync(victim, path);
    const log = await openLogFile(path);
    writeSync(log, 'new');
    closeSync(log);
    expect(readFileSync(victim, 'utf8')).to.equal('untouched');
    expect(readFileSync(path, 'utf8')).to.equal('new');
  });

  it('is cut while its writer goes on', async () => {
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

  it('is quoted by its last lines', async () => {
    const lines = Array.from({ length: 40 }, (_, n) => `line ${n}\n`);
    writeFileSync(path, lines.join(''));
    expect((await tailOf(path)).split('\n')).to.have.length(15);
    expect(await tailOf(path)).to.match(/\nline 38\nline 39$/);
    writeFileSync(path, '');
    expect(await tailOf(path)).to.equal('');
  });
});
