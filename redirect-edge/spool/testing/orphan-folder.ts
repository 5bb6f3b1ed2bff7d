import { mkdir, writeFile } from 'node:fs/promises';
import { v7 } from 'uuid';
import { join } from 'node:path';
import { spoolSource } from '../../../schemas/events/envelope.js';
import { RecordBuffer } from '../record.js';
import { segmentPath } from '../segment.js';
import { visitEvent } from '../appender.js';
import { visit } from './harness.js';

export interface OrphanFolder {
  readonly id: string;
  readonly path: string;
  readonly segments: readonly string[];
  /** Of each record, in all segments. */
  readonly sizes: readonly number[];
}

/** Writes the folder of a spool whose owner is gone: visit `n` has the sequence `n`. */
export const writeOrphan = async (
  dataDir: string,
  recordsPerSegment: readonly number[],
): Promise<OrphanFolder> => {
  const id = v7();
  const path = join(dataDir, 'spool', id);
  await mkdir(path, { recursive: true });
  const segments: string[] = [];
  const sizes: number[] = [];
  for (const count of recordsPerSegment) {
    const first = sizes.length + 1;
    const buffer = new RecordBuffer();
    for (let sequence = first; sequence < first + count; sequence += 1) {
      const { code } = visit(sequence);
      const value = visitEvent(visit(sequence), v7(), spoolSource(id), sequence);
      sizes.push(buffer.add({ sequence, key: code, value }));
    }
    segments.push(segmentPath(path, first));
    await writeFile(segmentPath(path, first), buffer.bytes());
  }
  return { id, path, segments, sizes };
};
