import { Command } from 'commander';
import { median } from '../support/median.js';
import { proveEdits } from './edits-proof.js';
import { wholeNumber } from '../support/options.js';

/** The deadline until every edge serves an edit. */
const withinMs = 1_000;
/** How long an edge listens for changes before it uses copies in Redis. */
const trustAfterMs = 60_000;

const command = new Command('edits')
  .description(
    'Edits links of the stack, a third of them with Kafka stopped, a third with Redis restored from before the ' +
      'edit, and measures when every edge serves the edit.',
  )
  .option('--edits <count>', 'number of edits', wholeNumber, 1_000)
  .parse();

const countLate = (times: readonly number[]): number => times.filter((ms) => ms > withinMs).length;

const { times, copies, lookups, wrong } = await proveEdits({
  edits: command.opts<{ edits: number }>().edits,
  trustAfterMs,
  onProgress: (line) => process.stdout.write(`${line}\n`),
});
console.table(
  Object.entries(times).map(([circumstance, ms]) => ({
    circumstance,
    edits: ms.length,
    medianMs: Math.round(median(ms)),
    slowestMs: Math.round(Math.max(...ms)),
    late: countLate(ms),
  })),
);
process.stdout.write(
  `${copies} old copies in Redis; the edges used ${lookups.hit} copies and refused ${lookups.refused}\n`,
);
for (const line of wrong) process.stdout.write(`WRONG: ${line}\n`);
const isLate = Object.values(times).some((ms) => countLate(ms) > 0);
process.exitCode = wrong.length === 0 && !isLate ? 0 : 1;
