import { z } from 'zod';
import { jsonText } from '../../platform/json.js';

/**
 * A backup is one file:
 *
 *     head      one line of JSON, see `backupHead`; `head -1` shows it
 *     body      gzip of lines of JSON: batches of records, then the end, see `bodyLine`
 *     digest    SHA-256 of every byte before it, 32 bytes
 *
 * Records stand in the order of their partition, with the exact text that the log has. Topics come
 * in an order in which nothing comes before what it refers to: keys, then links, then visits. The
 * digest finds what was cut short or altered, in head and body; it is no proof against a forger.
 *
 * A change that older versions cannot read raises `backupFormat`. The first field of the head is
 * the format in every version of it.
 */
export const backupFormat = 1;

export const digestBytes = 32;

/** All that a reader of any version can count on. */
export const anyBackupHead = jsonText.pipe(z.looseObject({ linklogBackup: z.int().min(1) }));

export const backupHead = jsonText.pipe(
  z.object({
    linklogBackup: z.literal(backupFormat),
    /** The version of Linklog that wrote it. */
    linklog: z.string(),
    createdAt: z.iso.datetime(),
    topics: z.array(
      z.object({
        topic: z.string(),
        /** The offsets of each partition: from `first` up to, not including, `next`. */
        partitions: z.array(z.object({ partition: z.int(), first: z.int(), next: z.int() })),
      }),
    ),
  }),
);
export type BackupHead = z.output<typeof backupHead>;

/** How many records a backup has, by its head. */
export const recordsIn = ({ topics }: BackupHead): number =>
  topics
    .flatMap(({ partitions }) => partitions)
    .reduce((sum, { first, next }) => sum + next - first, 0);

const batch = z.object({
  topic: z.string(),
  partition: z.int(),
  records: z.array(z.object({ key: z.string(), value: z.string() })),
});
export type BackupBatch = z.output<typeof batch>;

const end = z.object({ records: z.int() });

export const bodyLine = jsonText.pipe(z.union([batch, z.object({ end })]));
