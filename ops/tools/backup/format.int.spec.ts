import { expect } from 'chai';
import fc from 'fast-check';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { rejection } from '../../test/support/waiting.js';
import { FileExists, writeNewFile } from '../../platform/files/new-file.js';
import { BadBackup, openBackup, type BackupBatch, type BackupHead } from './format.js';
import { writeBackup } from './backup.js';
import { folderFixture } from '../../test/support/fixtures.js';

describe('backup: file of a backup', () => {
  const dir = folderFixture();
  let file: string;

  before(() => {
    file = path.join(dir.path, 'some.backup');
  });

  async function* iterate(batches: readonly BackupBatch[]): AsyncGenerator<BackupBatch> {
    for (const batch of batches) yield await Promise.resolve(batch);
  }

  const headOf = (batches: readonly BackupBatch[], linklogBackup = 1): BackupHead => ({
    linklogBackup: linklogBackup as 1,
    linklog: '0.1.0',
    createdAt: '2026-05-20T12:00:00.000Z',
    topics: batches.map(({ topic, partition, records }) => ({
      topic,
      partitions: [{ partition, first: 0, next: records.length }],
    })),
  });

  const encode = async (
    batches: readonly BackupBatch[],
    head = headOf(batches),
  ): Promise<Buffer> => {
    const chunks: Buffer[] = [];
    await writeBackup(head, iterate(batches), (chunk) => {
      chunks.push(chunk);
      return Promise.resolve();
    });
    return Buffer.concat(chunks);
  };

  const read = async (bytes: Buffer): Promise<readonly BackupBatch[]> => {
    await writeFile(file, bytes);
    const backup = await openBackup(file);
    const batches: BackupBatch[] = [];
    try {
      await backup.read((batch) => {
        batches.push(batch);
        return Promise.resolve();
      });
    } finally {
      await backup.close();
    }
    return batches;
  };

  const small: readonly BackupBatch[] = [
    { topic: 'a', partition: 0, records: [{ key: 'k', value: '{"some":"event"}' }] },
    { topic: 'b', partition: 3, records: [{ key: 'ü', value: 'no event\n\u0000' }] },
  ];

  const expectBad = async (bytes: Buffer, line: string): Promise<void> => {
    const error = await rejection(read(bytes));
    expect(error).to.be.instanceOf(BadBackup);
    expect((error as Error).message).to.equal(`${file} ${line}`);
  };

  it('preserves every text and the order', async () => {
    const text = fc.string({
      unit: fc.constantFrom('a', '\n', '"', '\\', '\u0000', '\ud83d', '😀'),
    });
    const batch = fc.record({
      topic: text,
      partition: fc.nat(),
      records: fc.array(fc.record({ key: text, value: text })),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(batch), async (batches) => {
        expect(await read(await encode(batches))).to.deep.equal(batches);
      }),
    );
  });

  it('preserves batches that are larger than a read', async () => {
    const records = Array.from({ length: 3_000 }, (_, index) => ({
      ...{ key: `code-${index}`, value: `${index} `.repeat(100) },
    }));
    const batches = [{ topic: 'a', partition: 0, records }];
    expect(await read(await encode(batches))).to.deep.equal(batches);
  });

  it('begins with a line of JSON; gunzip reads the rest', async () => {
    const bytes = await encode(small);
    const end = bytes.indexOf('\n');
    expect(JSON.parse(bytes.toString('utf8', 0, end))).to.deep.equal(headOf(small));
    const lines = gunzipSync(bytes.subarray(end + 1, -32))
      .toString('utf8')
      .trimEnd()
      .split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).to.deep.equal([
      ...small,
      { end: { records: 2 } },
    ]);
  });

  it('is rejected if it is truncated, or if any byte is altered or added', async () => {
    const bytes = await encode(small);
    for (let at = 0; at < bytes.length; at += 1) {
      const altered = Buffer.from(bytes);
      altered[at] = (bytes[at] ?? 0) ^ (1 << (at % 8));
      for (const bad of [altered, bytes.subarray(0, Math.max(at, 1))]) {
        expect(await rejection(read(bad)), `byte ${at}`).to.be.instanceOf(BadBackup);
      }
    }
    const longer = Buffer.concat([bytes, Buffer.from([0])]);
    expect(await rejection(read(longer))).to.be.instanceOf(BadBackup);
    await expectBad(bytes.subarray(0, -1), 'is damaged: it was truncated or altered');
  });

  it('is rejected with a reason if it is of a later format, of another kind, or empty', async () => {
    await expectBad(
      await encode(small, headOf(small, 2)),
      'was written by a later version of Linklog (format 2, this version reads 1): ' +
        'restore it with that version or a later one',
    );
    await expectBad(Buffer.alloc(0), 'is empty');
    await expectBad(Buffer.from('PK\u0003\u0004 something else\n'), 'is not a backup of Linklog');
    await expectBad(Buffer.alloc(100_000, 'x'), 'is not a backup of Linklog');
    const missing = await rejection(openBackup(path.join(dir.path, 'missing')));
    expect((missing as Error).message).to.match(/missing cannot be read: ENOENT/);
    expect(await rejection(openBackup(dir.path))).to.have.property(
      'message',
      `${dir.path} is not a file`,
    );
  });

  describe('is written', () => {
    const target = () => path.join(dir.path, 'target.backup');

    afterEach(() => rm(target(), { force: true }));

    it('atomically, without a temporary file after a failure', async () => {
      const failure = new Error('the log is unavailable');
      const failing = writeNewFile(target(), { replace: false }, async (append) => {
        await append(Buffer.from('a part'));
        throw failure;
      });
      expect(await rejection(failing)).to.equal(failure);
      expect((await readdir(dir.path)).filter((name) => name.includes('target'))).to.be.empty;
    });

    it('but does not replace a file that was created meanwhile', async () => {
      const late = writeNewFile(target(), { replace: false }, async () => {
        await writeFile(target(), 'another file');
      });
      expect(await rejection(late)).to.be.instanceOf(FileExists);
      expect(await readFile(target(), 'utf8')).to.equal('another file');
    });
  });
});
