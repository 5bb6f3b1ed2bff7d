import { readFile } from 'node:fs/promises';
import { hasCode } from '../../platform/errors.js';
import { postgresOf, type Product } from '../support/product.js';

/** MiB. */
export interface Memory {
  /** Resident. */
  readonly node: number;
  /** The proportional set size, because processes of PostgreSQL share buffers. */
  readonly postgres: number;
}

/** 0 after its end. */
const pssOf = async (pid: number): Promise<number> => {
  try {
    const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
    return Number(/^Pss:\s+(\d+) kB$/m.exec(text)?.[1]) / 1_024;
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ESRCH')) return 0;
    throw error;
  }
};

/** The memory of everything in one process, with its PostgreSQL. Linux only. */
export const readMemory = async (product: Product): Promise<Memory> => {
  const sizes = await Promise.all((await postgresOf(product.dataDir)).map(pssOf));
  return { node: await product.rssMiB(), postgres: sizes.reduce((sum, size) => sum + size, 0) };
};
