import { Command } from 'commander';
import { wholeNumber } from '../support/options.js';
import { Bench } from '../e2e/harness.js';
import { hostileEnvironment } from '../e2e/hostile/run.js';
import { floodWithoutReading } from '../e2e/hostile/unread.js';
import { markdownTable } from '../support/table.js';
import { runLoad } from '../support/steady-load.js';
import { watchRss } from '../support/rss.js';
import { collectGarbageOf, preloaded } from './memory.js';

const command = new Command('fuzz:unread')
  .description(
    'Floods each listener with pipelined requests without reading the responses, and measures the memory of the ' +
      'process and the 99th percentile of the response time of other clients.',
  )
  .option('--connections <number>', 'of the flood', wholeNumber, 500)
  .option('--seconds <number>', 'of a flood, and of the normal load before it', wholeNumber, 30)
  .parse();
const { connections, seconds } = command.opts<{ connections: number; seconds: number }>();

const maxGrowthMiB = 50;
/** Factor for the 99th percentile of other clients. */
const maxSlowdown = 3;
/** Requests of other clients, for each of their URLs. */
const perSecond = 100;
const warmUpMs = 5_000;

const bench = new Bench();
await bench.start({
  ...(await hostileEnvironment()),
  NODE_OPTIONS: `${preloaded} --max-old-space-size=512`,
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
      priority: 'high',
    });
  const normal = await load(seconds * 1_000);
  const rows: string[][] = [];
  let isWithin = true;
  for (const [origin, path] of [
    [product.api, '/openapi.json'],
    [product.edge, `/${shortCode}`],
    [product.admin, '/metrics'],
  ] as const) {
    await collectGarbageOf(product);
    const memory = await watchRss(product);
    const flood = floodWithoutReading(origin, { path, connections });
    const flooded = await load(seconds * 1_000);
    const { before, most } = await memory.stop();
    const ended = flood.ended();
    flood.end();
    isWithin &&= most - before <= maxGrowthMiB;
    for (const name of Object.keys(others)) {
      const [p99, floodedP99] = [normal[name]?.p99 ?? NaN, flooded[name]?.p99 ?? NaN];
      isWithin &&= floodedP99 <= p99 * maxSlowdown;
      const mib = [before, most].map((figure) => figure.toFixed(1));
      const times = [p99, floodedP99, floodedP99 / p99].map((figure) => figure.toFixed(1));
      rows.push([path, ...mib, String(ended), name, ...times]);
    }
  }
  const memoryColumns = ['Memory before, MiB', 'At most, MiB', 'Connections ended'];
  const header = ['Flood', ...memoryColumns, 'Other client', 'p99, ms', 'Flooded, ms', 'Times'];
  process.stdout.write(`${connections} connections\n${markdownTable(header, rows)}`);
  process.exitCode = isWithin ? 0 : 1;
} finally {
  await bench.end();
}
