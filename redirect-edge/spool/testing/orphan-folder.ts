import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { v7 } from 'uuid';
import { RecordBuffer } from '../record.js';
import { segmentPath } from '../segment.js';
import { visit } from './harness.js';

interface OrphanFolder {
  readonly id: string;
  readonly path: string;
  readonly segments: readonly string[];
  /** The size of each record in all segments. */
  readonly sizes: readonly number[];
}

/** A record of the previous release, which contains the event. */
export const eventRecord = (sequence: number, key: string, value: string): Buffer => {
  const fixed = Buffer.alloc(10);
  fixed.writeBigUInt64BE(BigInt(sequence));
  fixed.writeUInt16BE(Buffer.byteLength(key), 8);
  const body = Buffer.concat([fixed, Buffer.from(key), Buffer.from(value)]);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(body.length);
  head.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([head, body]);
};

/** Writes the spool of an ended process: visit `n` has the sequence `n`. */
export const writeOrphan = async (
  dataDir: string,
  recordsPerSegment: readonly number[],
): Promise<OrphanFolder> => {
  const id = v7();
  const path = join(dataDir, 'spool', id);
  // No scan may find it before it is complete.
  const hidden = `${path}.new`;
  await mkdir(hidden, { recursive: true });
  const segments: string[] = [];
  const sizes: number[] = [];
  for (const count of recordsPerSegment) {
    const first = sizes.length + 1;
    const buffer = new RecordBuffer();
    for (let sequence = first; sequence < first + count; sequence += 1) {
      sizes.push(buffer.add(sequence, visit(sequence)));
    }
    segments.push(segmentPath(path, first));
    await writeFile(segmentPath(hidden, first), buffer.bytes());
  }
  await rename(hidden, path);
  return { id, path, segments, sizes };
};
