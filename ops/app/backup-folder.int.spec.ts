import { expect } from 'chai';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { rejection } from '../test/support/waiting.js';
import { folderFixture } from '../test/support/fixtures.js';
import { addBackup, newestBackup } from './backup-folder.js';

describe('folder of backups', () => {
  const folder = folderFixture();
  const dir = (): string => path.join(folder.path, 'backups');
  const at = (text: string): Date => new Date(`2026-05-${text}.123Z`);
  const add = (now: Date, keep = 2) =>
    addBackup(dir(), keep, (file) => writeFile(file, now.toISOString()), now);

  it('is created, and names a backup when it is verified', async () => {
    expect(await newestBackup(dir())).to.equal(0);
    const { file, deleted } = await add(at('20T03:00:00'));
    expect([path.basename(file), deleted]).to.deep.equal([
      ...['linklog-2026-05-20T03-00-00Z.backup', []],
    ]);
    expect(await newestBackup(dir())).to.equal(Date.parse('2026-05-20T03:00:00Z'));
  });

  it('keeps the newest ones and other files, and deletes remainders of killed backups after a day', async () => {
    await writeFile(path.join(dir(), 'linklog.backup'), 'of an operator');
    const killed = [
      'linklog-2026-05-20T04-00-00Z.backup.unverified.0a1b2c3d.unfinished',
      'linklog-2026-05-22T02-00-00Z.backup.unverified',
    ];
    for (const name of killed) await writeFile(path.join(dir(), name), '');
    await add(at('21T03:00:00'));
    const { deleted } = await add(at('22T03:00:00'));
    expect(deleted).to.deep.equal(['linklog-2026-05-20T03-00-00Z.backup', killed[0]]);
    expect(await readdir(dir())).to.have.members([
      'linklog.backup',
      'linklog-2026-05-21T03-00-00Z.backup',
      'linklog-2026-05-22T03-00-00Z.backup',
      killed[1],
    ]);
  });

  it('has neither a backup that could not be verified, nor a second one of a second', async () => {
    const before = await readdir(dir());
    const damaged = addBackup(dir(), 2, async (file) => {
      await writeFile(file, '');
      throw new Error('damaged');
    });
    expect(((await rejection(damaged)) as Error).message).to.equal('damaged');
    expect(((await rejection(add(at('22T03:00:00')))) as Error).message).to.match(
      /exists already$/,
    );
    expect(await readdir(dir())).to.deep.equal(before);
    const newest = path.join(dir(), 'linklog-2026-05-22T03-00-00Z.backup');
    expect(await readFile(newest, 'utf8')).to.equal('2026-05-22T03:00:00.123Z');
  });
});
