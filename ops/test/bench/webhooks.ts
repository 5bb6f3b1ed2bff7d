import { Command } from 'commander';
import { startEmbeddedTarget } from '../chaos/feed-target.js';
import { runWebhookRounds, webhookEnvironment } from '../chaos/webhook-rounds.js';
import { wholeNumber } from '../support/options.js';
import { markdownTable } from '../support/table.js';

/**
 * How late events arrive at a webhook's receiver: alone, and next to a receiver that fails 30 % of its requests and a
 * receiver that is dead for 2 minutes:
 * `node dist/ops/test/bench/webhooks.js [--events N] [--rounds N]`
 */
const { events, rounds } = new Command('webhooks')
  .option('--events <count>', 'events', wholeNumber, 20_000)
  .option('--rounds <count>', 'rounds', wholeNumber, 2)
  .parse()
  .opts<Record<'events' | 'rounds', number>>();

const rows: string[][] = [];
for (let round = 1; round <= rounds; round += 1) {
  for (const receivers of [['fast'], ['fast', 'failing', 'dead']] as const) {
    const target = await startEmbeddedTarget(webhookEnvironment);
    try {
      const plan = { events, receivers, kills: 0, deadMs: 120_000, seed: round };
      const { fastMs, broken } = await runWebhookRounds(target, plan);
      if (broken.length > 0) throw new Error(broken.join('\n'));
      rows.push([String(round), receivers.join(', '), String(fastMs.median), String(fastMs.p99)]);
    } finally {
      await target.stop();
    }
  }
}
process.stdout.write(markdownTable(['Round', 'Receivers', 'Median ms', 'p99 ms'], rows));
