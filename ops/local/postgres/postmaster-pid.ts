import { readFile } from 'node:fs/promises';
import { hasCode } from '../../platform/errors.js';
import type { Layout } from './layout.js';

export interface PostmasterPid {
  /** 0 when the file does not say, as after a power loss. */
  readonly pid: number;
  readonly port: number;
  readonly isReady: boolean;
}

/** What the file says; whether it is still true is another question. Null when there is none. */
export const readPostmasterPid = async (layout: Layout): Promise<PostmasterPid | null> => {
  let content: string;
  try {
    content = await readFile(layout.postmasterPid, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  }
  // The lines are numbered in PostgreSQL's miscadmin.h, LOCK_FILE_LINE_*.
  const line = content.split('\n');
  const pid = Number(line[0]);
  return {
    pid: Number.isSafeInteger(pid) && pid > 0 ? pid : 0,
    port: Number(line[3] ?? 0),
    isReady: line[7]?.trim() === 'ready',
  };
};
