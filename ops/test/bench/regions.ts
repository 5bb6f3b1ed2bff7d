import pg from 'pg';
import { runningPostgresUrl } from '../../local/postgres/index.js';
import { linkedKinds, startLinkedStack, type LinkedStack } from '../chaos/linked-stack.js';
import { createLinks } from '../support/create-links.js';
import { sendRequest } from '../support/http.js';
import { median } from '../support/median.js';
import { generousPlansFile } from '../support/plans.js';
import { temporaryDir } from '../support/process.js';
import { issueKey } from '../support/product.js';
import { openStatusClient } from '../support/status-client.js';
import { markdownTable } from '../support/table.js';
import { eventually } from '../support/waiting.js';

/**
 * Response times of an edge and an API that are far from PostgreSQL, Kafka and Redis:
 * `node dist/ops/test/bench/regions.js [SAMPLES]`. A stack with one process of each service reaches its servers
 * through proxies that delay both directions. One client sends one request after the other. The first column is the
 * measured time of `SELECT 1`, because timers add to the delay.
 */
const [samples = 100] = process.argv.slice(2).map(Number);
const roundTripsMs = [0, 5, 20];

const setRoundTrip = ({ links }: LinkedStack, ms: number): void => {
  for (const link of linkedKinds.flatMap((kind) => links[kind])) {
    if (ms === 0) link.mend();
    else link.disturb('slow', ms / 2);
  }
};

const timed = async (run: () => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now();
  await run();
  return performance.now() - startedAt;
};

/** The time of `SELECT 1` through the proxy. */
const queryTime = async ({ dataDir, links }: LinkedStack): Promise<number> => {
  const url = new URL((await runningPostgresUrl(dataDir)) ?? '');
  url.port = new URL(links.postgres[0]?.url ?? '').port;
  // The Unix socket.
  url.searchParams.delete('host');
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  const times: number[] = [];
  for (let sample = 0; sample < 20; sample += 1) {
    times.push(await timed(() => client.query('SELECT 1')));
  }
  await client.end();
  return median(times);
};

/** The response times of requests on one connection, sorted; each must have the status. */
const responseTimes = async (
  url: string,
  status: string,
  requests: readonly string[],
): Promise<readonly number[]> => {
  const client = openStatusClient(url);
  const times: number[] = [];
  for (const request of requests) {
    let received = '';
    times.push(await timed(async () => (received = await client.send(request))));
    if (received !== status) throw new Error(`${received} instead of ${status}: ${request}`);
  }
  client.close();
  return times.sort((a, b) => a - b);
};

const get = (code: string): string => `GET /${code} HTTP/1.1\r\nHost: a\r\n\r\n`;
const post = (key: string): string => {
  const body = JSON.stringify({ url: 'https://example.com/' });
  const fields = ['Host: a', `Authorization: Bearer ${key}`, 'Content-Type: application/json'];
  const head = ['POST /v2/shorten HTTP/1.1', ...fields, `Content-Length: ${body.length}`];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
};

const dir = await temporaryDir();
const stack = await startLinkedStack(
  { brokers: 1, nodes: 1 },
  { PLANS_FILE: await generousPlansFile(dir) },
);
try {
  const [api = '', edge = ''] = [stack.apis[0], stack.edges[0]];
  await eventually(
    'the API is ready',
    async () => (await sendRequest(`${api}/health/ready`)).status === 200,
    60_000,
  );
  const { key } = await issueKey(stack, { plan: 'PRO' });
  const urlOf = (index: number): string => `https://example.com/${index}`;
  const rows: (readonly (string | number)[])[] = [];
  for (const ms of roundTripsMs) {
    const count = 50 * Math.ceil(samples / 50);
    const uncached = await createLinks(api, key, count, urlOf);
    const [limited = ''] = await createLinks(api, key, 50, urlOf, { maxClicks: 1_000_000 });
    const [cached = ''] = uncached;
    setRoundTrip(stack, ms);
    const repeat = (request: string): string[] => Array.from({ length: samples }, () => request);
    // The first one reads the link.
    await responseTimes(edge, '302', [get(cached), get(limited)]);
    const measured = [
      await responseTimes(edge, '302', repeat(get(cached))),
      await responseTimes(edge, '302', uncached.slice(1).map(get)),
      await responseTimes(edge, '302', repeat(get(limited))),
      await responseTimes(api, '201', repeat(post(key))),
    ];
    rows.push([
      Number((await queryTime(stack)).toFixed(1)),
      ...measured.map((times) => `${median(times).toFixed(1)} (${times.at(-1)?.toFixed(0) ?? ''})`),
    ]);
    setRoundTrip(stack, 0);
  }
  process.stdout.write(
    'Response time in ms, median (maximum)\n\n' +
      markdownTable(
        ['Round trip', 'Cached redirect', 'Uncached redirect', 'Limited click', 'POST /v2/shorten'],
        rows,
      ),
  );
} finally {
  await stack.stop();
}
