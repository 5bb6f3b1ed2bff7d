import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from '../support/http.js';
import { issueKey } from '../support/product.js';
import { startStackProcess } from '../support/stack.js';
import { runLoad, type StreamResult } from './steady-load.js';

/**
 * What visitors meet while the stack's Kafka is stopped (SIGSTOP), and whether each visit arrives:
 * `node dist/ops/test/bench/log-away.js [seconds] [visits a second over both edges]`.
 */
const [seconds = 60, perSecond = 200] = process.argv.slice(2).map(Number);
const links = 20;
const warmUpMs = 2_000;
const arriveWithinMs = 120_000;

const headersOf = (key: string): Record<string, string> => ({ Authorization: `Bearer ${key}` });

const makeLinks = async (api: string, key: string): Promise<readonly string[]> => {
  const codes: string[] = [];
  while (codes.length < links) {
    const answer = await ask(`${api}/v2/shorten`, {
      method: 'POST',
      headers: headersOf(key),
      body: { url: 'https://example.com/' },
    });
    if (answer.status !== 201) throw new Error(`No link: ${answer.status} ${answer.text}`);
    codes.push((answer.json() as { shortCode: string }).shortCode);
  }
  return codes;
};

const clicks = async (api: string, key: string, codes: readonly string[]): Promise<number> => {
  let sum = 0;
  for (const code of codes) {
    const answer = await ask(`${api}/v2/stats/${code}`, { headers: headersOf(key) });
    sum += (answer.json() as { clickCount: number }).clickCount;
  }
  return sum;
};

const stack = await startStackProcess();
try {
  const [api = ''] = stack.apis;
  const { key } = await issueKey(stack, { plan: 'PRO' });
  const codes = await makeLinks(api, key);
  let redirected = 0;
  /** All edges at once; every answer counts, the first ones are not timed. */
  const visit = async (ms: number, name: string): Promise<StreamResult> => {
    const streams = stack.edges.map((edge) => ({
      name: edge,
      perSecond: perSecond / stack.edges.length,
      urls: codes.map((code) => `${edge}/${code}`),
      form: null,
      clients: [],
    }));
    const load = { streams, givesWay: false };
    redirected += Object.values(await runLoad({ ...load, ms: warmUpMs, warmUpMs: 0 })).reduce(
      (sum, { answers }) => sum + (answers['302'] ?? 0),
      0,
    );
    const results = Object.values(await runLoad({ ...load, ms, warmUpMs: 0 }));
    redirected += results.reduce((sum, { answers }) => sum + (answers['302'] ?? 0), 0);
    const worst = results.reduce((one, other) => (one.p99 > other.p99 ? one : other));
    const said = results.map(({ answers }) => JSON.stringify(answers)).join(' ');
    process.stdout.write(
      `| ${name} | ${worst.p50.toFixed(2)} | ${worst.p99.toFixed(2)} | ${said} |\n`,
    );
    return worst;
  };

  const [kafka] = stack.pids.kafka;
  if (kafka === undefined) throw new Error('The stack has no Kafka of its own');
  process.stdout.write('| ms, the slower edge | p50 | p99 | answers |\n|---|---|---|---|\n');
  await visit(10_000, 'warming up');
  const normal = await visit(seconds * 1_000, 'normal');
  process.kill(kafka, 'SIGSTOP');
  let stopped: StreamResult;
  try {
    stopped = await visit(seconds * 1_000, 'Kafka stopped');
  } finally {
    process.kill(kafka, 'SIGCONT');
  }
  const back = performance.now();
  let arrived = 0;
  while (arrived < redirected && performance.now() - back < arriveWithinMs) {
    await sleep(500);
    arrived = await clicks(api, key, codes);
  }
  await visit(seconds * 1_000, 'afterwards');
  process.stdout.write(
    `p99 stopped / normal: ${(stopped.p99 / normal.p99).toFixed(2)}; ${arrived} of the visits were ` +
      `counted within ${((performance.now() - back) / 1_000 - seconds).toFixed(0)} s\n`,
  );
  if (arrived < redirected) process.exitCode = 1;
} finally {
  await stack.stop();
}
