/** `npm run chaos:client`: the client of the API through a lossy proxy, while its API is killed. */
import { Command } from 'commander';
import { randomInt } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { Linklog } from '../../clients/typescript/src/index.js';
import { nullOnThrow } from '../../platform/errors.js';
import { createThrough, expectEachOnce, readEvents } from '../support/client-check.js';
import { startLossyProxy } from '../support/lossy-proxy.js';
import { wholeNumber } from '../support/options.js';
import { generousPlansFile } from '../support/plans.js';
import { temporaryDir } from '../support/process.js';
import { issueKey } from '../support/product.js';
import { seededRandom } from '../support/random.js';
import { startStackProcess } from '../support/stack.js';
import { eventuallyPasses } from '../support/waiting.js';

const options = new Command('chaos:client')
  .description(
    'Creates links with @linklog/client through a proxy that drops, delays, duplicates and cuts a fifth of the ' +
      'requests, while an API of the stack is killed (-9) every 5 s. Each returned link must exist once, and no ' +
      'second one. Then reads the events through the same proxy: each once, in order.',
  )
  .option('--links <count>', 'how many to create while APIs are killed', wholeNumber, 10_000)
  .option('--events <count>', 'how many to read', wholeNumber, 100_000)
  .option('--seed <number>', 'repeats the faults of a run', wholeNumber, randomInt(1, 2 ** 31))
  .parse()
  .opts<Record<'links' | 'events' | 'seed', number>>();

// Child processes are killed at exit, which a signal alone does not trigger.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const killEveryMs = 5_000;
/** Links of a batch. */
const batchSize = 50;
const report = (line: string): boolean => process.stdout.write(`${line}\n`);

report(`seed ${options.seed}`);
const folder = await temporaryDir();
const env = { PLANS_FILE: await generousPlansFile(folder), LOG_LEVEL: 'error' };
const stack = await startStackProcess(env, ['--apis', '2']);
const random = seededRandom(options.seed);
const proxy = await startLossyProxy(stack.apis, { random, share: 0.2 });
const key = { plan: 'PRO', account: 'client' } as const;
const { key: secret } = await issueKey(stack, key);
const client = new Linklog({ key: secret, baseUrl: proxy.url, maxRetries: 20, timeoutMs: 10_000 });
const [api = ''] = stack.apis;
const direct = new Linklog({ key: secret, baseUrl: api, maxRetries: 20 });

let kills = 0;
const killer = setInterval(() => {
  const pid = stack.pids.api[random.below(stack.apis.length)];
  if (pid === undefined) return;
  // The supervisor may not have restarted the last one yet.
  if (nullOnThrow(() => process.kill(pid, 'SIGKILL'), 'ESRCH')) kills += 1;
}, killEveryMs);
const startedAt = performance.now();
const returned = await createThrough(client, options.links, 50);
clearInterval(killer);
const seconds = Math.round((performance.now() - startedAt) / 1_000);
report(`${returned.size} of ${options.links} links in ${seconds} s, ${kills} kills`);
report(JSON.stringify(proxy.counts()));
await eventuallyPasses(() => expectEachOnce(direct, returned), 60_000);
report('each returned link exists once');

for (let count = returned.size; count < options.events; count += batchSize) {
  const urls = Array.from({ length: batchSize }, (_, index) => ({
    url: `https://example.com/batch/${count + index}`,
  }));
  await direct.links.createBatch({ urls });
}
let failures = 0;
const query = { after: 'start', types: ['LinkCreated'] };
const stream = client.events.stream(query, { onRetry: () => void (failures += 1) });
await readEvents(stream, options.events);
report(`${options.events} events, each once and in order, after ${failures} failures`);
await proxy.close();
await stack.stop();
await rm(folder, { recursive: true });
