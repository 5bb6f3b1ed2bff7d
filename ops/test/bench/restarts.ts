import { setTimeout as sleep } from 'node:timers/promises';
import { partKinds, type PartKind } from '../../local/stack/parts.js';
import { median } from '../support/median.js';
import { startStackProcess } from '../support/stack.js';
import { cpuMs } from './cpu-ms.js';
import { eventually } from '../support/waiting.js';

/**
 * How long each kind of part of a quiet stack takes from `kill -9` until it is ready again, and how much
 * CPU its new process has taken by then, which a busy machine makes it wait for:
 * `node dist/ops/test/bench/restarts.js [times] [kinds ...]`.
 */
const [times = '10', ...named] = process.argv.slice(2);
const kinds = partKinds.filter((kind) => named.length === 0 || named.includes(kind));
/** Until the others have made their connections anew, and all is quiet. */
const quietMs = 3_000;

const stack = await startStackProcess({ LOG_LEVEL: 'error' });

const restart = async (kind: PartKind): Promise<{ readonly ms: number; readonly cpu: number }> => {
  const before = stack.restarts(kind, 0);
  const [pid] = stack.pids[kind];
  if (pid === undefined) throw new Error(`The stack has no ${kind}`);
  const killedAt = performance.now();
  process.kill(pid, 'SIGKILL');
  await eventually(`${kind} is ready again`, () => stack.restarts(kind, 0) > before, 60_000);
  const ms = performance.now() - killedAt;
  return { ms, cpu: cpuMs(stack.pids[kind][0] ?? 0) };
};

try {
  process.stdout.write('| ms until ready | median | longest | CPU, median |\n|---|---|---|---|\n');
  for (const kind of kinds) {
    const took: number[] = [];
    const cpu: number[] = [];
    while (took.length < Number(times)) {
      await sleep(quietMs);
      const one = await restart(kind);
      took.push(one.ms);
      cpu.push(one.cpu);
    }
    const cells = [median(took), Math.max(...took), median(cpu)].map((ms) => ms.toFixed(0));
    process.stdout.write(`| ${[kind, ...cells].join(' | ')} |\n`);
  }
} finally {
  await stack.stop();
}
