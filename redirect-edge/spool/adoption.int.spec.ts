import { expect } from 'chai';
import { mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { v7 } from 'uuid';
import { maxRecordBytes } from './record.js';
import { boundSetAside, setAsideIn } from './set-aside.js';
import { shippedSoFar } from './shipped.js';
import { append, FakeLog, range, visit } from './testing/harness.js';
import { spoolFixture } from './testing/spool-fixture.js';
import { writeOrphan } from './testing/orphan-folder.js';
import { toRecords } from '../../ops/test/support/to-records.js';
import { eventually } from '../../ops/test/support/waiting.js';

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

describe('redirect edge: spool of an ended process', () => {
  const bench = spoolFixture();

  const spoolDir = () => readdir(bench.root);
  const isGone = (id: string) =>
    eventually('the orphan is gone', async () => !(await spoolDir()).includes(id));
  const adoptAll = async () => {
    const spool = await bench.open();
    await eventually('no orphan is left', async () =>
      (await spoolDir()).every((name) => name === spool.id || name.endsWith('.bad')),
    );
    return spool;
  };

  it('is shipped unchanged and deleted, at the start and later', async () => {
    const early = await writeOrphan(bench.dataDir, [30, 20, 1]);
    const spool = await adoptAll();
    expect(bench.log.visitsOf(early.id)).to.deep.equal(range(1, 51));

    const late = await writeOrphan(bench.dataDir, [10]);
    await isGone(late.id);
    expect(bench.log.visitsOf(late.id)).to.deep.equal(range(1, 10));
    expect(bench.log.records).lengthOf(61);
    expect(spool.counters.adopted).to.equal(2);
    expect(bench.logLines.filter(({ level }) => level > 30)).to.be.empty;
  });

  it('of another version is not changed', async () => {
    const later = await writeOrphan(bench.dataDir, [3]);
    const [segment = ''] = later.segments;
    const bytes = await readFile(segment);
    // The format of the first record.
    bytes[8] = 5;
    bytes.writeUInt32BE(crc32(bytes.subarray(8, later.sizes[0])), 4);
    await writeFile(segment, bytes);
    const spool = await bench.open();
    await eventually('the spool is left over', () => spool.leftOver().spools === 1);
    await spool.stop();
    expect((await readFile(segment)).equals(bytes)).to.be.true;
    expect(await spoolDir()).to.deep.equal([later.id]);
  });

  it('does not delay the visits of the edge that adopts it', async () => {
    const orphan = await writeOrphan(bench.dataDir, [20_000]);
    const spool = await bench.open();
    await append(spool, visit(1));
    await eventually('the visit is shipped', () => bench.log.visitsOf(spool.id).length === 1);
    await isGone(orphan.id);
    expect(bench.log.visitsOf(orphan.id)).to.deep.equal(range(1, 20_000));
  });

  for (const [title, segments, shipped, sizeOf] of [
    ['is truncated before an incomplete record', [5, 5], 9, (size: number) => size - 1],
    ['is truncated before zeros of a power loss', [5], 5, (size: number) => size + 4096],
    ['may contain only an incomplete record', [1], 0, () => 10],
  ] as const) {
    it(title, async () => {
      const orphan = await writeOrphan(bench.dataDir, segments);
      const last = orphan.sizes.slice(-(segments.at(-1) ?? 0));
      await truncate(orphan.segments.at(-1) ?? '', sizeOf(sum(last)));
      await adoptAll();
      expect(bench.log.visitsOf(orphan.id)).to.deep.equal(range(1, shipped));
      expect(await spoolDir()).lengthOf(1);
    });
  }

  for (const [which, segments, shipped, damage] of [
    ['an earlier segment', [10, 10], [...range(1, 4), ...range(11, 20)], 1],
    ['its last segment', [10], range(1, 4), 1],
    ['its last segment before a record in another chunk', [10], range(1, 4), 9 * maxRecordBytes],
  ] as const) {
    it(`is shipped without the damaged part of ${which}, which is set aside`, async () => {
      const orphan = await writeOrphan(bench.dataDir, segments);
      const [first = ''] = orphan.segments;
      const offset = sum(orphan.sizes.slice(0, 4));
      const bytes = await readFile(first);
      const at = offset + 20;
      const lost = Buffer.alloc(damage, 0xff);
      const damaged = Buffer.concat([bytes.subarray(0, at), lost, bytes.subarray(at + 1)]);
      await writeFile(first, damaged);

      const spool = await adoptAll();
      expect(bench.log.visitsOf(orphan.id)).to.deep.equal(shipped);
      const names = (await spoolDir()).filter((name) => name.endsWith('.bad'));
      expect(names).to.deep.equal([`${orphan.id}.0000000000000001.${offset}.bad`]);
      const copy = await readFile(join(bench.root, names[0] ?? ''));
      expect(copy.equals(damaged.subarray(offset))).to.be.true;
      expect(spool.counters.damaged).to.equal(1);
      const [error] = bench.logLines.filter(({ level }) => level === 50);
      expect(error).to.include({ file: first, offset });
      expect(spool.depth()).to.deep.equal({ bytes: 0, events: 0 });
      // A scan may have counted the file while it was written.
      await eventually('the file is counted', () => spool.setAside().bytes === copy.length);
      expect(spool.setAside().files).to.equal(1);
    });
  }

  it('does not count for the size limit of the edge that adopts it', async () => {
    bench.log.isUnavailable = true;
    const orphan = await writeOrphan(bench.dataDir, [1400]);
    const bytes = sum(orphan.sizes);
    const spool = await bench.open({ maxBytes: 65_536 });
    expect(bytes).to.be.above(65_536);
    await eventually('the spool holds 1,400 visits', () => spool.depth().events === 1400);
    expect(spool.leftOver()).to.deep.equal({ spools: 1, bytes });
    for (const number of range(1, 10)) await append(spool, visit(number));
    expect(spool.leftOver()).to.deep.equal({ spools: 1, bytes });
    expect(spool.depth().bytes).to.equal(bytes + spool.diskBytes());

    bench.log.isUnavailable = false;
    await eventually('the spool is shipped', () => spool.depth().events === 0);
    await eventually('nothing is left over', () => spool.leftOver().spools === 0);
  });

  it('is shipped by another edge if the first one stops', async () => {
    const orphan = await writeOrphan(bench.dataDir, [2500]);
    let shipped = 0;
    const spool = await bench.open({
      ship: async (records) => {
        if (shipped >= 2000) throw new Error('the log is unavailable');
        await bench.log.ship(records);
        shipped += toRecords(records).length;
      },
    });
    await eventually('all 2,000 visits are shipped', () => shipped === 2000);
    await spool.stop({ shipWithinMs: 100 });
    expect(await spoolDir()).to.deep.equal([orphan.id]);

    await adoptAll();
    // No record is shipped twice.
    expect(bench.log.records).lengthOf(2500);
    expect(bench.log.visitsOf(orphan.id)).to.deep.equal(range(1, 2500));
  });

  it('is not adopted while its process runs', async () => {
    bench.log.isUnavailable = true;
    // It must not adopt the orphan first, because it cannot ship it.
    const owner = await bench.open({ scanEveryMs: 600_000 });
    await append(owner, visit(1));
    const other = new FakeLog();
    await bench.open({ ship: other.ship, scanEveryMs: 5 });
    // Each scan finds both spools.
    const orphan = await writeOrphan(bench.dataDir, [1]);
    await isGone(orphan.id);
    expect(other.visitsOf(owner.id)).to.be.empty;
    expect(bench.logLines.filter(({ level }) => level === 50)).to.be.empty;
  });

  it('is deleted when it is empty, but not in its first minute', async () => {
    const [young, old] = [v7(), v7()].map((id) => join(bench.root, id)) as [string, string];
    await mkdir(young, { recursive: true });
    await mkdir(old);
    await utimes(old, 0, 0);
    const spool = await bench.open();
    await eventually('two spools are left', async () => (await spoolDir()).length === 2);
    expect((await spoolDir()).map((name) => join(bench.root, name))).to.include(young);
    expect(spool.counters.adopted).to.equal(0);
  });

  it('is retried while it cannot be read, and delays no other spool', async () => {
    const broken = await writeOrphan(bench.dataDir, [3, 3]);
    const [first = ''] = broken.segments;
    const bytes = await readFile(first);
    await rm(first);
    // A folder can be opened, but not read. It is at least as large as the file, because a scan may read its size before
    // the repair. In tmpfs, the size of a folder depends on its entries.
    const folder = join(bench.dataDir, 'folder');
    await mkdir(folder);
    for (let entry = 0; (await stat(folder)).size < bytes.length; entry += 1) {
      await mkdir(join(folder, String(entry)));
    }
    await symlink(folder, first);
    const healthy = await writeOrphan(bench.dataDir, [5]);
    const spool = await bench.open({ maxBytes: 65_536, scanEveryMs: 5 });
    await isGone(healthy.id);
    expect(bench.log.visitsOf(healthy.id)).to.deep.equal(range(1, 5));
    await eventually('more than 30 visits are adopted', () => spool.counters.adopted > 30);
    await append(spool, visit(1));
    expect(bench.log.visitsOf(broken.id)).to.be.empty;
    await eventually('the spool is left over', () => spool.leftOver().spools === 1);

    // Atomically: a scan must not find the spool without this segment.
    const repaired = join(bench.dataDir, 'repaired');
    await writeFile(repaired, bytes);
    await rename(repaired, first);
    await isGone(broken.id);
    expect(bench.log.visitsOf(broken.id)).to.deep.equal(range(1, 6));
  });

  it('is distinguished from other folders', async () => {
    const otherFolder = join(bench.root, 'lost+found');
    await mkdir(otherFolder, { recursive: true });
    await writeFile(join(otherFolder, '0000000000000001.seg'), 'not ours');
    const orphan = await writeOrphan(bench.dataDir, [1]);
    await bench.open();
    await isGone(orphan.id);
    expect(await readdir(otherFolder)).lengthOf(1);
  });

  it('is shipped once if two edges scan concurrently', async () => {
    const orphans = [];
    for (let count = 1; count <= 20; count += 1)
      orphans.push(await writeOrphan(bench.dataDir, [count]));
    const logs = [bench.log, new FakeLog()];
    const spools = await Promise.all(logs.map(({ ship }) => bench.open({ ship, scanEveryMs: 1 })));
    await eventually(
      'only the running spools are left',
      async () => (await spoolDir()).length === spools.length,
    );
    for (const [index, { id }] of orphans.entries()) {
      const shipped = logs.map((edge) => edge.visitsOf(id)).filter(({ length }) => length > 0);
      expect(shipped).to.deep.equal([range(1, index + 1)]);
    }
  });
});

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
    expect(await shippedSoFar(bench.root, 0)).to.equal(sum(orphan.sizes));
    expect(await readdir(bench.root)).to.deep.equal([orphan.id]);
  });

  it('includes the spool of an ended process, which another process ships', async () => {
    const orphan = await writeOrphan(bench.dataDir, [200, 100]);
    await bench.open();
    expect(await shippedSoFar(bench.root, generousMs)).to.equal(0);
    expect(bench.log.visitsOf(orphan.id)).to.deep.equal(range(1, 300));
  });
});

describe('redirect edge: files that are set aside', () => {
  const bench = spoolFixture();

  for (const [title, files, bytes, bounds, stored] of [
    ['are deleted beyond the maximum of bytes, the oldest first', 5, 10, [100, 35], 3],
    ['are deleted beyond the maximum of files, the oldest first', 5, 10, [3, 1_000], 3],
    ['include the newest file, even if it is too large', 1, 100, [1, 10], 1],
  ] as const) {
    it(title, async () => {
      const names = Array.from({ length: files }, (_, age) => `${age}.bad`);
      for (const [age, name] of names.entries()) {
        const path = join(bench.dataDir, name);
        await writeFile(path, Buffer.alloc(bytes));
        await utimes(path, 1_000_000 - age, 1_000_000 - age);
      }
      await mkdir(join(bench.dataDir, 'a-spool'));
      const [maxFiles, maxBytes] = bounds;
      await boundSetAside(bench.dataDir, bench.logger, { files: maxFiles, bytes: maxBytes });
      const left = (await readdir(bench.dataDir)).sort();
      expect(left).to.deep.equal([...names.slice(0, stored), 'a-spool']);
      expect(await setAsideIn(bench.dataDir)).to.deep.equal({
        files: stored,
        bytes: stored * bytes,
      });
      expect(bench.logLines.map(({ file }) => file)).to.have.length(files - stored);
    });
  }
});
