import { Command } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import { runLoad } from '../bench/steady-load.js';
import { wholeNumber } from '../chaos/options.js';
import { Bench } from '../e2e/harness.js';
import { hostileEnvironment } from '../e2e/hostile/run.js';
import { floodWithoutReading } from '../e2e/hostile/unread.js';

const command = new Command('fuzz:unread')
  .description(
    'Floods each listener with pipelined requests whose responses are never read, and measures the memory of the ' +
      'process and the 99th percentile of other clients.',
  )
  .option('--connections <number>', 'of the flood', wholeNumber, 500)
  .option('--seconds <number>', 'of a flood, and of the normal load before it', wholeNumber, 30)
  .parse();
const { connections, seconds } = command.opts<{ connections: number; seconds: number }>();

/** MiB that the memory may grow by. */
const maxGrowth = 50;
/** What the 99th percentile of other clients may be multiplied by. */
const maxSlowdown = 3;
/** Of other clients, for each of their URLs. */
const perSecond = 100;
const warmUpMs = 5_000;
const lookMs = 250;

/** MiB, after all garbage was collected. */
const memoryOf = async ({ product }: Bench): Promise<number> => {
  process.kill(product.pid, 'SIGUSR2');
  await sleep(2_000);
  return product.rssMiB();
};

const bench = new Bench();
const preloaded = new URL('../support/collect-garbage.js', import.meta.url).href;
await bench.start({
  ...(await hostileEnvironment()),
  NODE_OPTIONS: `--import=${preloaded} --max-old-space-size=512`,
});
try {
  const { product } = bench;
  const { shortCode } = await bench.link((await bench.key('PRO')).key);
  const others = {
    'GET /:shortCode': `${product.edge}/${shortCode}`,
    'GET /health (API)': `${product.api}/health`,
    'GET /health (admin)': `${product.admin}/health`,
  };
  const load = (ms: number) =>
    runLoad({
      streams: Object.entries(others).map(([name, url]) => ({
        ...{ name, perSecond, urls: [url], form: null, clients: [] },
      })),
      ms,
      warmUpMs,
      givesWay: false,
    });
  const normal = await load(seconds * 1_000);
  const lines = [
    '| Flood | Memory before, MiB | At most, MiB | Connections ended | Other client | p99, ms | Flooded, ms | Times |',
    '| --- | ---: | ---: | ---: | --- | ---: | ---: | ---: |',
  ];
  let isWithin = true;
  for (const [origin, path] of [
    [product.api, '/openapi.json'],
    [product.edge, `/${shortCode}`],
    [product.admin, '/metrics'],
  ] as const) {
    const before = await memoryOf(bench);
    let most = before;
    const looking = setInterval(() => {
      void product.rssMiB().then((now) => (most = Math.max(most, now)));
    }, lookMs);
    const flood = floodWithoutReading(origin, { path, connections });
    const flooded = await load(seconds * 1_000);
    clearInterval(looking);
    const ended = flood.ended();
    flood.end();
    isWithin &&= most - before <= maxGrowth;
    for (const name of Object.keys(others)) {
      const [p99, then] = [normal[name]?.p99 ?? NaN, flooded[name]?.p99 ?? NaN];
      isWithin &&= then <= p99 * maxSlowdown;
      const cells = [before, most, p99, then, then / p99].map((figure) => figure.toFixed(1));
      lines.push(
        `| ${path} | ${cells[0]} | ${cells[1]} | ${ended} | ${name} | ${cells.slice(2).join(' | ')} |`,
      );
    }
  }
  process.stdout.write(`${connections} connections\n${lines.join('\n')}\n`);
  process.exitCode = isWithin ? 0 : 1;
} finally {
  await bench.end();
}
