import { setTimeout as sleep } from 'node:timers/promises';
import { cpuMs } from './cpu-ms.js';
import { startStackProcess } from '../support/stack.js';

/**
 * How much of a core a stack takes that nobody uses: `node dist/ops/test/bench/idle.js [seconds]`.
 * Linux only.
 */
const [seconds = 60] = process.argv.slice(2).map(Number);
/** What a process does at its start, compiling what it runs above all, is not idle yet. */
const settleMs = 60_000;

const stack = await startStackProcess();
try {
  await sleep(settleMs);
  const ours = [
    ['supervisor', stack.pid],
    ...(['api', 'edge', 'projector'] as const).flatMap((kind) =>
      stack.pids[kind].map((pid, index) => [`${kind} ${index}`, pid] as const),
    ),
  ] as const;
  const before = ours.map(([, pid]) => cpuMs(pid));
  await sleep(seconds * 1_000);
  const shares = ours.map(([, pid], index) => (cpuMs(pid) - (before[index] ?? 0)) / seconds / 10);
  process.stdout.write('| process | % of a core |\n|---|---|\n');
  for (const [index, [name]] of ours.entries()) {
    process.stdout.write(`| ${name} | ${shares[index]?.toFixed(2) ?? ''} |\n`);
  }
  const all = shares.reduce((sum, share) => sum + share, 0);
  process.stdout.write(`| all | ${all.toFixed(2)} |\n`);
} finally {
  await stack.stop();
}
