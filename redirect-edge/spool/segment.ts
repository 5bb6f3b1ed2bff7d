import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** One file of a spool: records in ascending order of their sequence, and nothing else. */
export interface Segment {
  /** The file's name as a number: no record in it has a lower sequence. */
  readonly first: number;
  readonly path: string;
  /** Bytes from the start that hold good records; what is in the file beyond them is not ours. */
  length: number;
  /** Nothing will be written to it any more. */
  closed: boolean;
}

const digits = 16;
const fileName = new RegExp(`^\\d{${digits}}\\.seg$`);

export const segmentPath = (folder: string, first: number): string =>
  join(folder, `${String(first).padStart(digits, '0')}.seg`);

/** The segments in a folder, oldest first, with the lengths of their files. */
export const listSegments = async (folder: string): Promise<Segment[]> => {
  const names = (await readdir(folder)).filter((name) => fileName.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      const { size } = await stat(path);
      return { first: Number.parseInt(name, 10), path, length: size, closed: true };
    }),
  );
};
