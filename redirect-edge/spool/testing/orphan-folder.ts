import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { v7 } from 'uuid';
import { partitionOf } from '../../../ops/event-log/partition.js';
import { spoolSource } from '../../../schemas/events/envelope.js';
import { topics } from '../../../schemas/events/topics.js';
import { writeSpooledVisit } from '../../../schemas/events/spooled-visit.js';
import { RecordBuffer } from '../record.js';
import { segmentPath } from '../segment.js';
import { visit } from './harness.js';

interface OrphanFolder {
  readonly id: string;
  readonly segments: readonly string[];
  /** The size of each record in all segments. */
  readonly sizes: readonly number[];
}

/** Writes the spool of an ended process, with visits from 1, each in a record of its own. */
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
  const sequences = new Map<number, number>();
  for (const count of recordsPerSegment) {
    const first = sizes.length + 1;
    const buffer = new RecordBuffer();
    for (let number = first; number < first + count; number += 1) {
      const written = visit(number);
      const partition = partitionOf(written.subject, topics.visits.partitions);
      const sequence = (sequences.get(partition) ?? 0) + 1;
      sequences.set(partition, sequence);
      const source = spoolSource(`${id}/${partition}`);
      const before = buffer.bytes().length;
      buffer.add(partition, writeSpooledVisit(written, source, sequence));
      sizes.push(buffer.bytes().length - before);
    }
    segments.push(segmentPath(path, first));
    await writeFile(segmentPath(hidden, first), buffer.bytes());
  }
  await rename(hidden, path);
  return { id, segments, sizes };
};
