import { expect } from 'chai';
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { boundSetAside, setAsideIn } from './set-aside.js';
import { spoolFixture } from './testing/spool-fixture.js';

describe('redirect edge: files that are set aside', () => {
  const bench = spoolFixture();

  const rootWith = async (files: number, bytes: number): Promise<string> => {
    const root = bench.dataDir;
    for (let age = 0; age < files; age += 1) {
      const path = join(root, `${age}.bad`);
      await writeFile(path, Buffer.alloc(bytes));
      await utimes(path, 1_000_000 - age, 1_000_000 - age);
    }
    return root;
  };

  for (const [bound, bounds] of [
    ['bytes', { files: 100, bytes: 35 }],
    ['files', { files: 3, bytes: 1_000 }],
  ] as const) {
    it(`are deleted beyond the maximum of ${bound}, the oldest first`, async () => {
      const root = await rootWith(5, 10);
      await mkdir(join(root, 'a-spool'));
      await boundSetAside(root, bench.logger, bounds);
      expect((await readdir(root)).sort()).to.deep.equal(['0.bad', '1.bad', '2.bad', 'a-spool']);
      expect(await setAsideIn(root)).to.deep.equal({ files: 3, bytes: 30 });
      expect(bench.logLines.map(({ file }) => file)).to.have.length(2);
    });
  }

  it('include the newest file, even if it is too large', async () => {
    const root = await rootWith(1, 100);
    await boundSetAside(root, bench.logger, { files: 1, bytes: 10 });
    expect(await setAsideIn(root)).to.deep.equal({ files: 1, bytes: 100 });
  });
});
