import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { stopProcess } from './process.js';
import type { Product } from './product.js';

/** Stops the embedded PostgreSQL. @returns a function that resumes it */
export const pausePostgres = async ({ dataDir }: Pick<Product, 'dataDir'>): Promise<() => void> => {
  const pidFile = path.join(dataDir, 'postgres/cluster/postmaster.pid');
  return stopProcess(Number((await readFile(pidFile, 'utf8')).split('\n')[0]));
};
