import { readFileSync } from 'node:fs';
import { hasCode, nullOnThrow } from '../errors.js';

/** Reads a file of /proc. ESRCH: the process has ended. EACCES: /proc is mounted with hidepid. */
export const readProc = (file: string): string | null =>
  nullOnThrow(() => readFileSync(`/proc/${file}`, 'utf8'), 'ENOENT', 'ESRCH', 'EACCES', 'EPERM');

/** Returns a process's program, state, parent, and start in clock ticks since boot; `null` if it is not in /proc. */
export const procStat = (pid: number) => {
  const text = readProc(`${pid}/stat`);
  if (text === null) return null;
  // The second field is the program's name in parentheses, which may contain spaces and ")".
  const end = text.lastIndexOf(')');
  const fields = text.slice(end + 2).split(' ');
  return {
    program: text.slice(text.indexOf('(') + 1, end),
    state: fields[0] ?? '',
    parent: Number(fields[1]),
    start: fields[19] ?? '',
  };
};

export const processExists = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process belongs to another user.
    return !hasCode(error, 'ESRCH');
  }
};
