import { readFileSync } from 'node:fs';
import { nullOnThrow } from '../../platform/errors.js';

/** User and system time so far, in milliseconds, with those of ended children. Linux: a tick is 10 ms. */
const timesOf = (pid: number): readonly [own: number, ofChildren: number] => {
  // The name, in brackets, may hold anything; what follows begins with the third field.
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ') ?? [];
  const [user = NaN, system = NaN, childrenUser = NaN, childrenSystem = NaN] = fields
    .slice(11, 15)
    .map(Number);
  return [(user + system) * 10, (childrenUser + childrenSystem) * 10];
};

/** Of a process and its threads so far, in milliseconds. Linux only. */
export const cpuMs = (pid: number): number => timesOf(pid)[0];

/** Of a process and all that it has started so far, in milliseconds. Linux only. */
export const cpuMsOfTree = (pid: number): number => {
  const [own, ofEnded] = timesOf(pid);
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ');
  // One that ends between the two reads is among its parent's ended children the next time.
  const msOf = (child: string): number =>
    nullOnThrow(() => cpuMsOfTree(Number(child)), 'ENOENT', 'ESRCH') ?? 0;
  return children.filter(Boolean).reduce((sum, child) => sum + msOf(child), own + ofEnded);
};
