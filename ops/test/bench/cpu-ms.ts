import { readdirSync, readFileSync } from 'node:fs';
import { nullOnThrow } from '../../platform/errors.js';

/** Time of the living threads of a process in milliseconds, without rounding. */
const threadsMs = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => {
    const file = `/proc/${pid}/task/${thread}/schedstat`;
    const times = nullOnThrow(() => readFileSync(file, 'latin1'), 'ENOENT', 'ESRCH') ?? '0';
    return sum + Number(times.split(' ')[0]) / 1e6;
  }, 0);

/** User and system time in milliseconds, with those of ended children. Linux: a tick is 10 ms. */
const cpuTimes = (pid: number): readonly [own: number, endedChildren: number] => {
  // The second field, in brackets, can contain any text; the fields are counted from the third on.
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ') ?? [];
  const [user = NaN, system = NaN, childrenUser = NaN, childrenSystem = NaN] = fields
    .slice(11, 15)
    .map(Number);
  // The ticks include ended threads.
  const own = Math.max((user + system) * 10, threadsMs(pid));
  return [own, (childrenUser + childrenSystem) * 10];
};

/** CPU time of a process and its threads, in milliseconds. Linux only. */
export const cpuMs = (pid: number): number => cpuTimes(pid)[0];

/** CPU time of a process and its descendants, in milliseconds. Linux only. */
export const cpuMsOfTree = (pid: number): number => {
  const [own, endedChildren] = cpuTimes(pid);
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ');
  // A child that ends between the two reads is counted by the next call.
  const msOf = (child: string): number =>
    nullOnThrow(() => cpuMsOfTree(Number(child)), 'ENOENT', 'ESRCH') ?? 0;
  return children.filter(Boolean).reduce((sum, child) => sum + msOf(child), own + endedChildren);
};

/** CPU time of a product, in milliseconds. */
export interface ProductCpu {
  readonly node: number;
  readonly postgres: number;
}

/** The tree also has ended processes, such as a worker of autovacuum. */
export const productCpu = (pid: number): ProductCpu => {
  const node = cpuMs(pid);
  return { node, postgres: cpuMsOfTree(pid) - node };
};

/** Microseconds of CPU time for each of `count` operations since `before`. */
export const cpuUsSince = (before: ProductCpu, after: ProductCpu, count: number): ProductCpu => ({
  node: ((after.node - before.node) * 1_000) / count,
  postgres: ((after.postgres - before.postgres) * 1_000) / count,
});
