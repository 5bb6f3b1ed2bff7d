import { expect } from 'chai';
import {
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { v7 } from 'uuid';
import { writeEvent } from '../../schemas/events/codec.js';
import { spoolSource } from '../../schemas/events/envelope.js';
import { spooledVisit } from '../../schemas/testing/events.js';
import { segmentPath } from './segment.js';
import { append, SpoolBench, FakeLog, range, visit } from './testing/harness.js';
import { eventRecord, writeOrphan } from './testing/orphan-folder.js';
import { toRecords } from '../../ops/test/support/to-records.js';
import { eventually } from '../../ops/test/support/waiting.js';

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

describe('redirect edge: spool of an ended process', () => {
  const bench = new SpoolBench();
  let dataDir: string;
  let log: FakeLog;

  beforeEach(async () => {
    dataDir = await bench.dataDir();
    log = new FakeLog();
  });
  afterEach(() => bench.clear());

  const spoolDir = () => readdir(join(dataDir, 'spool'));
  const adoptAll = async () => {
    const spool = await bench.open({ dataDir, ship: log.ship });
    await eventually('no orphan is left', async () =>
      (await spoolDir()).every((name) => !isOrphan(name, spool.id)),
    );
    return spool;
  };
  const isOrphan = (name: string, ownId: string) => name !== ownId && !name.endsWith('.bad');
  const flip = async (path: string, offset: number) => {
    const bytes = await readFile(path);
    bytes[offset] = (bytes[offset] ?? 0) ^ 1;
    await writeFile(path, bytes);
  };

  it('is shipped as it is and deleted, at the start and later', async () => {
    const early = await writeOrphan(dataDir, [30, 20, 1]);
    const spool = await adoptAll();
    expect(log.visitsOf(early.id)).to.deep.equal(range(1, 51));

    const late = await writeOrphan(dataDir, [10]);
    await eventually('the late orphan is gone', async () => !(await spoolDir()).includes(late.id));
    expect(log.visitsOf(late.id)).to.deep.equal(range(1, 10));
    expect(log.records).lengthOf(61);
    expect(spool.counters.adopted).to.equal(2);
    expect(bench.logged.filter(({ level }) => level > 30)).to.be.empty;
  });

  it('is shipped as it is where the release before wrote it', async () => {
    const id = v7();
    const folder = join(dataDir, 'spool', id);
    await mkdir(folder, { recursive: true });
    const source = spoolSource(id);
    const values = range(1, 30).map((sequence) =>
      writeEvent({
        ...spooledVisit('ünlink', { source, sequence, id: v7() }),
        correlationid: String(sequence),
      }),
    );
    const records = values.map((value, index) => eventRecord(index + 1, 'ünlink', value));
    await writeFile(segmentPath(folder, 1), Buffer.concat(records.slice(0, 20)));
    // The last one is torn.
    await writeFile(segmentPath(folder, 21), Buffer.concat(records.slice(20)).subarray(0, -1));
    await adoptAll();
    const shipped = values.slice(0, 29).map((value) => ({ key: 'ünlink', value }));
    expect(log.records.map(({ key, value }) => ({ key, value }))).to.deep.equal(shipped);
    expect(log.visitsOf(id)).to.deep.equal(range(1, 29));
  });

  it('is left alone where a later release wrote it', async () => {
    const later = await writeOrphan(dataDir, [3]);
    const [segment = ''] = later.segments;
    const bytes = await readFile(segment);
    // The format of the first record.
    bytes[8] = 2;
    bytes.writeUInt32BE(crc32(bytes.subarray(8, later.sizes[0])), 4);
    await writeFile(segment, bytes);
    const spool = await bench.open({ dataDir, ship: log.ship });
    await eventually('it is left over', () => spool.leftOver().spools === 1);
    await spool.stop();
    expect((await readFile(segment)).equals(bytes)).to.be.true;
    expect(await spoolDir()).to.deep.equal([later.id]);
  });

  it('does not hold up the visits of its adopter', async () => {
    const orphan = await writeOrphan(dataDir, [20_000]);
    const spool = await bench.open({ dataDir, ship: log.ship });
    await append(spool, visit(1));
    await eventually('the visit is shipped', () => log.visitsOf(spool.id).length === 1);
    await eventually('the orphan is gone', async () => !(await spoolDir()).includes(orphan.id));
    expect(log.visitsOf(orphan.id)).to.deep.equal(range(1, 20_000));
  });

  it('is cut where its last write was torn', async () => {
    const orphan = await writeOrphan(dataDir, [5, 5]);
    await truncate(orphan.segments[1] ?? '', sum(orphan.sizes.slice(5)) - 1);
    await adoptAll();
    expect(log.visitsOf(orphan.id)).to.deep.equal(range(1, 9));
    expect(await spoolDir()).lengthOf(1);
  });

  it('is cut where a power loss left zeros', async () => {
    const orphan = await writeOrphan(dataDir, [5]);
    await truncate(orphan.segments[0] ?? '', sum(orphan.sizes) + 4096);
    await adoptAll();
    expect(log.visitsOf(orphan.id)).to.deep.equal(range(1, 5));
  });

  it('may hold only a torn write', async () => {
    const orphan = await writeOrphan(dataDir, [1]);
    await truncate(orphan.segments[0] ?? '', 10);
    await adoptAll();
    expect(log.records).to.be.empty;
  });

  it('has the unreadable part of an earlier segment put aside, and the rest shipped', async () => {
    const orphan = await writeOrphan(dataDir, [10, 10]);
    const [first = ''] = orphan.segments;
    const offset = sum(orphan.sizes.slice(0, 4));
    await flip(first, offset + 20);
    const damaged = await readFile(first);

    const spool = await adoptAll();
    expect(log.visitsOf(orphan.id)).to.deep.equal([...range(1, 4), ...range(11, 20)]);
    const aside = (await spoolDir()).filter((name) => name.endsWith('.bad'));
    expect(aside).to.deep.equal([`${orphan.id}.0000000000000001.${offset}.bad`]);
    const kept = await readFile(join(dataDir, 'spool', aside[0] ?? ''));
    expect(kept.equals(damaged.subarray(offset))).to.be.true;
    expect(spool.counters.damaged).to.equal(1);
    const [error] = bench.logged.filter(({ level }) => level === 50);
    expect(error).to.include({ file: first, offset });
    expect(spool.depth()).to.deep.equal({ bytes: 0, events: 0 });
    await eventually('the file shows', () => spool.setAside().files === 1);
    expect(spool.setAside().bytes).to.equal(kept.length);
  });

  it('has the unreadable part of its last segment put aside where good visits follow', async () => {
    const orphan = await writeOrphan(dataDir, [10]);
    const [first = ''] = orphan.segments;
    const offset = sum(orphan.sizes.slice(0, 4));
    await flip(first, offset + 20);
    await adoptAll();
    expect(log.visitsOf(orphan.id)).to.deep.equal(range(1, 4));
    const kept = (await spoolDir()).filter((name) => name.endsWith('.bad'));
    expect(kept).to.deep.equal([`${orphan.id}.0000000000000001.${offset}.bad`]);
  });

  it('does not count for the cap of its adopter, and is left over until it is shipped', async () => {
    log.isAway = true;
    const orphan = await writeOrphan(dataDir, [1400]);
    const bytes = sum(orphan.sizes);
    const spool = await bench.open({ dataDir, ship: log.ship, maxBytes: 65_536 });
    expect(bytes).to.be.above(65_536);
    await eventually('the spool holds 1,400 visits', () => spool.depth().events === 1400);
    expect(spool.leftOver()).to.deep.equal({ spools: 1, bytes });
    for (const number of range(1, 10)) await append(spool, visit(number));
    expect(spool.leftOver()).to.deep.equal({ spools: 1, bytes });
    expect(spool.depth().bytes).to.equal(bytes + spool.diskBytes());

    log.isAway = false;
    await eventually('the spool is shipped', () => spool.depth().events === 0);
    await eventually('nothing is left over', () => spool.leftOver().spools === 0);
  });

  it('is left to others when its adopter stops before all is shipped', async () => {
    const orphan = await writeOrphan(dataDir, [2500]);
    let shipped = 0;
    const spool = await bench.open({
      dataDir,
      ship: async (records) => {
        if (shipped >= 2000) throw new Error('The log is away');
        await log.ship(records);
        shipped += toRecords(records).length;
      },
    });
    await eventually('all 2,000 visits are shipped', () => shipped === 2000);
    await spool.stop({ shipWithinMs: 100 });
    expect(await spoolDir()).to.deep.equal([orphan.id]);

    await adoptAll();
    // From where the first one was, not from the start.
    expect(log.records).lengthOf(2500);
    expect(log.visitsOf(orphan.id)).to.deep.equal(range(1, 2500));
  });

  it('is not adopted while its owner lives', async () => {
    log.isAway = true;
    const owner = await bench.open({ dataDir, ship: log.ship });
    await append(owner, visit(1));
    const other = new FakeLog();
    await bench.open({ dataDir, ship: other.ship, scanEveryMs: 5 });
    await sleep(200);
    expect(other.records).to.be.empty;
    expect(bench.logged.filter(({ level }) => level === 50)).to.be.empty;
  });

  it('is deleted when it is empty, but not in its first minute', async () => {
    const [young, old] = [v7(), v7()].map((id) => join(dataDir, 'spool', id)) as [string, string];
    await mkdir(young, { recursive: true });
    await mkdir(old);
    await utimes(old, 0, 0);
    const spool = await bench.open({ dataDir, ship: log.ship });
    await eventually('two spools are left', async () => (await spoolDir()).length === 2);
    expect((await spoolDir()).map((name) => join(dataDir, 'spool', name))).to.include(young);
    expect(spool.counters.adopted).to.equal(0);
  });

  it('is tried again while it cannot be read; other spools are shipped, and no space is lost', async () => {
    const broken = await writeOrphan(dataDir, [3, 3]);
    const [first = ''] = broken.segments;
    const bytes = await readFile(first);
    await rm(first);
    // Opens, but does not read. No smaller than the file: what a scan that comes just before the mending takes for the
    // segment's length must not end within its records. In memory, a folder's size is of its entries.
    const folder = join(dataDir, 'folder');
    await mkdir(folder);
    for (let entry = 0; (await stat(folder)).size < bytes.length; entry += 1) {
      await mkdir(join(folder, String(entry)));
    }
    await symlink(folder, first);
    const healthy = await writeOrphan(dataDir, [5]);
    const spool = await bench.open({ dataDir, ship: log.ship, maxBytes: 65_536, scanEveryMs: 5 });
    await eventually('the healthy orphan is shipped', () => log.visitsOf(healthy.id).length === 5);
    await eventually('more than 30 visits are adopted', () => spool.counters.adopted > 30);
    await append(spool, visit(1));
    expect(log.visitsOf(broken.id)).to.be.empty;
    await eventually('it is left over', () => spool.leftOver().spools === 1);

    // At once: a scan that found neither would take what follows for the whole spool.
    const mended = join(dataDir, 'mended');
    await writeFile(mended, bytes);
    await rename(mended, first);
    await eventually(
      'the broken orphan is gone',
      async () => !(await spoolDir()).includes(broken.id),
    );
    expect(log.visitsOf(broken.id)).to.deep.equal(range(1, 6));
  });

  it('is distinguished from folders that are no spools', async () => {
    const stranger = join(dataDir, 'spool', 'lost+found');
    await mkdir(stranger, { recursive: true });
    await writeFile(join(stranger, '0000000000000001.seg'), 'not ours');
    const orphan = await writeOrphan(dataDir, [1]);
    await bench.open({ dataDir, ship: log.ship });
    await eventually('the orphan is gone', async () => !(await spoolDir()).includes(orphan.id));
    expect(await readdir(stranger)).lengthOf(1);
  });

  it('is shipped once when two edges scan at once', async () => {
    const orphans = [];
    for (let count = 1; count <= 20; count += 1) orphans.push(await writeOrphan(dataDir, [count]));
    const logs = [log, new FakeLog()];
    const spools = await Promise.all(
      logs.map(({ ship }) => bench.open({ dataDir, ship, scanEveryMs: 1 })),
    );
    await eventually(
      'only the running spools are left',
      async () => (await spoolDir()).length === spools.length,
    );
    for (const [index, { id }] of orphans.entries()) {
      const takers = logs.map((one) => one.visitsOf(id)).filter(({ length }) => length > 0);
      expect(takers).to.deep.equal([range(1, index + 1)]);
    }
  });
});
