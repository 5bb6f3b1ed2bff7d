/**
 * How long a visit takes to show in `clickCount` under a steady load of other visits, in milliseconds, and
 * what the product's memory does meanwhile; with LINKLOG_TEST_ON=stack on the stack:
 *
 *     node dist/ops/test/bench/visible-after.js [VISITS_PER_SECOND] [SECONDS]
 */
import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from '../support/http.js';
import { generousPlansFile } from '../support/plans.js';
import { temporaryDir } from '../support/process.js';
import { startProduct } from '../support/product.js';
import { makeLinks } from './make-links.js';
import { runLoad } from './steady-load.js';

const [perSecond = 2_000, seconds = 60] = process.argv.slice(2).map(Number);
const linksOfLoad = 5_000;
/** Each has one visit. */
const samples = 250;
const pollMs = 10;
const warmUpMs = 3_000;

const percentile = (ascending: readonly number[], share: number): string =>
  (ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? NaN).toFixed(
    0,
  );

const dir = await temporaryDir();
const product = await startProduct({ env: { PLANS_FILE: await generousPlansFile(dir) } });
try {
  const { api, edge } = product;
  const { key } = await product.createKey({ plan: 'PRO' });
  const headers = { Authorization: `Bearer ${key}` };
  const codes = await makeLinks(api, key, linksOfLoad + samples, (n) => `https://example.com/${n}`);

  const visibleAfter = async (code: string): Promise<number> => {
    const { status } = await ask(`${edge}/${code}`);
    if (status !== 302) throw new Error(`A visit got ${status}`);
    const visitedAt = performance.now();
    for (;;) {
      const stats = await ask(`${api}/v2/stats/${code}`, { headers });
      const { clickCount } = stats.json() as { readonly clickCount: number };
      if (clickCount === 1) return performance.now() - visitedAt;
      await sleep(pollMs);
    }
  };

  const load = runLoad({
    streams: [
      {
        name: 'visits',
        perSecond,
        urls: codes.slice(samples).map((code) => `${edge}/${code}`),
        form: null,
        clients: [],
      },
    ],
    ms: seconds * 1_000,
    warmUpMs,
    givesWay: false,
  });
  await sleep(warmUpMs);
  const before = await product.rssMiB();
  const times: number[] = [];
  for (const code of codes.slice(0, samples)) {
    const startedAt = performance.now();
    times.push(await visibleAfter(code));
    await sleep(Math.max(0, startedAt + (seconds * 1_000) / samples - performance.now()));
  }
  const after = await product.rssMiB();
  const { visits } = await load;
  times.sort((a, b) => a - b);
  process.stdout.write(
    `${JSON.stringify(visits?.answers)} answers, p99 ${visits?.p99.toFixed(1)} ms\n`,
  );
  process.stdout.write('| Visits a second | p50 | p90 | p99 | longest | MiB before | after |\n');
  process.stdout.write('| ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n');
  const shares = [0.5, 0.9, 0.99, 1].map((share) => percentile(times, share)).join(' | ');
  process.stdout.write(
    `| ${perSecond} | ${shares} | ${before.toFixed(0)} | ${after.toFixed(0)} |\n`,
  );
} finally {
  await product.stop();
  await product.cleanup();
  await rm(dir, { recursive: true });
}
