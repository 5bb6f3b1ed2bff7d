import { Command } from 'commander';
import { median } from '../support/median.js';
import { proveEdits } from './edits-proof.js';
import { wholeNumber } from '../support/options.js';

/** What an edit may take to be served by every edge. */
const withinMs = 1_000;
/** How long an edge listens before it believes any copy. */
const settlingMs = 60_000;

const command = new Command('edits')
  .description(
    'Edits links of the stack, a third of them with Kafka stopped, a third with Redis restored from before the ' +
      'edit, and measures when every edge serves the edit.',
  )
  .option('--edits <count>', 'in all', wholeNumber, 1_000)
  .parse();

const { times, copies, lookups, wrong } = await proveEdits({
  edits: command.opts<{ edits: number }>().edits,
  settlingMs,
  onProgress: (line) => process.stdout.write(`${line}\n`),
});
console.table(
  Object.entries(times).map(([circumstance, all]) => ({
    circumstance,
    edits: all.length,
    medianMs: Math.round(median(all)),
    slowestMs: Math.round(Math.max(...all)),
    late: all.filter((ms) => ms > withinMs).length,
  })),
);
process.stdout.write(
  `${copies} old copies in Redis; the edges used ${lookups.hit} copies and refused ${lookups.refused}\n`,
);
for (const line of wrong) process.stdout.write(`WRONG: ${line}\n`);
const late = Object.values(times)
  .flat()
  .filter((ms) => ms > withinMs);
process.exitCode = wrong.length === 0 && late.length === 0 ? 0 : 1;
