import { expect } from 'chai';
import { readdir } from 'node:fs/promises';
import { shippedSoFar } from './shipped.js';
import { append, range, visit } from './testing/harness.js';
import { spoolFixture } from './testing/spool-fixture.js';
import { writeOrphan } from './testing/orphan-folder.js';
import { eventually } from '../../ops/test/support/waiting.js';

const generousMs = 20_000;

describe('redirect edge: wait until the spools of a data directory are shipped', () => {
  const bench = spoolFixture();

  it('ends immediately without a spool, or with an empty one', async () => {
    expect(await shippedSoFar(bench.root, generousMs)).to.equal(0);
    await bench.open();
    expect(await shippedSoFar(bench.root, generousMs)).to.equal(0);
  });

  it('ends when the earlier visits are in the log, even if more visits follow', async () => {
    const spool = await bench.open({ segmentBytes: 4_096 });
    for (let round = 0; round < 20; round += 1) {
      const before = range(round * 50 + 1, round * 50 + 50);
      await Promise.all(before.map((number) => append(spool, visit(number))));
      const waiting = shippedSoFar(bench.root, generousMs);
      expect(await waiting).to.equal(0);
      expect(bench.log.visitsOf(spool.id)).to.include.members(before);
    }
  });

  it('continues until the log is available again', async () => {
    const spool = await bench.open();
    bench.log.isUnavailable = true;
    await append(spool, visit(1));
    const waiting = shippedSoFar(bench.root, generousMs);
    await eventually('a second attempt', () => bench.log.attempts > 1);
    expect(bench.log.records).to.be.empty;
    bench.log.isUnavailable = false;
    expect(await waiting).to.equal(0);
    expect(bench.log.visitsOf(spool.id)).to.deep.equal([1]);
  });

  it('returns the bytes that are not in the log at the deadline', async () => {
    const orphan = await writeOrphan(bench.dataDir, [3, 2]);
    expect(await shippedSoFar(bench.root, 0)).to.equal(
      orphan.sizes.reduce((sum, size) => sum + size, 0),
    );
    expect(await readdir(bench.root)).to.deep.equal([orphan.id]);
  });

  it('includes the spool of an ended process, which another process ships', async () => {
    const orphan = await writeOrphan(bench.dataDir, [200, 100]);
    await bench.open();
    expect(await shippedSoFar(bench.root, generousMs)).to.equal(0);
    expect(bench.log.visitsOf(orphan.id)).to.deep.equal(range(1, 300));
  });
});
