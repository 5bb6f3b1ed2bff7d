import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { topics } from '../../../schemas/events/topics.js';
import { newEvent, writeEvent } from '../../../schemas/events/codec.js';
import { spoolSource } from '../../../schemas/events/envelope.js';
import { openKafkaLog } from '../../event-log/kafka/kafka-log.js';
import type { EventLog } from '../../event-log/port.js';
import { openPostgresAppend } from '../../event-log/postgres-log.js';
import { runningPostgresUrl } from '../../local/postgres/index.js';
import { createLogger } from '../../platform/logging.js';
import { createPool, type Pool } from '../../platform/postgres/pool.js';
import { settingsOf } from '../conformance/event-log/kafka-harness.js';
import { sendRequest } from '../support/http.js';
import { openStreams, streamsOfKey } from '../support/idle-streams.js';
import { endShared } from '../support/at-end.js';
import { percentile } from '../support/median.js';
import { wholeNumber } from '../support/options.js';
import { temporaryDir } from '../support/process.js';
import { serversFor, startEmbeddedProduct } from '../support/product.js';
import { markdownTable } from '../support/table.js';
import { randomVisit } from './random-visits.js';
import { cpuMsOfTree } from './cpu-ms.js';

/**
 * The feed of everything in one process:
 * `node dist/ops/test/bench/feed.js [--streams N] [--events N] [--visits N] [--seconds N] [--kafka]`
 *
 * `--kafka`: with Kafka and Redis.
 *
 * - the CPU time and memory of idle streams, compared with none
 * - the delay of one event a second at every stream
 * - a page of an account with 1,000 events in a history of N events
 * - the replay of visits through a stream
 * - the memory of clients that never read
 */
const { streams, events, visits, seconds, kafka } = new Command('feed')
  .option('--streams <count>', 'idle streams', wholeNumber, 1_000)
  .option('--events <count>', 'events of other accounts', wholeNumber, 5_000_000)
  .option('--visits <count>', 'visits to replay', wholeNumber, 500_000)
  .option('--seconds <count>', 'length of a measurement', wholeNumber, 30)
  .option('--kafka', 'with Kafka')
  .parse()
  .opts<Record<'streams' | 'events' | 'visits' | 'seconds', number> & { kafka?: true }>();

const dataDir = await temporaryDir();
const servers = await serversFor(dataDir, kafka === true);
const product = await startEmbeddedProduct({ dataDir, env: servers });
const { api, pid, firstKey } = product;
const headers = { Authorization: `Bearer ${firstKey ?? ''}` };
const rows: (readonly [string, string])[] = [];
const report = (figure: string, value: string): void => {
  rows.push([figure, value]);
  process.stderr.write(`${figure}: ${value}\n`);
};

const createLink = async (index: number): Promise<void> => {
  const body = { url: `https://example.com/${index}` };
  const response = await sendRequest(`${api}/v2/shorten`, { method: 'POST', headers, body });
  if (response.status !== 201) throw new Error(response.text);
};

/** CPU time of the product in percent of a core. */
const cpuPercent = async (): Promise<number> => {
  const before = cpuMsOfTree(pid);
  await sleep(seconds * 1_000);
  return (cpuMsOfTree(pid) - before) / (seconds * 10);
};

const measureStreams = async (): Promise<void> => {
  await createLink(0);
  await sleep(10_000);
  const idleCpu = await cpuPercent();
  const open = await openStreams(product, streams);
  await sleep(10_000);
  const cpu = await cpuPercent();
  report(`CPU of ${streams} idle streams`, `${(cpu - idleCpu).toFixed(1)} % of a core`);
  // Twice, because the heap has room for the first ones.
  const before = await product.rssMiB();
  const more = await openStreams(product, 2 * streams);
  await sleep(10_000);
  const memory = ((await product.rssMiB()) - before) / 2;
  report(`memory of ${streams} more idle streams`, `${memory.toFixed(0)} MiB`);
  more.close();
  open.latencies.length = 0;
  for (let index = 1; index <= seconds; index += 1) {
    await createLink(index);
    await sleep(1_000);
  }
  const { latencies } = open;
  report('events received', `${latencies.length} of ${seconds * streams}`);
  report(
    `delay of an event at ${streams} streams`,
    `median ${percentile(latencies, 0.5)} ms, p99 ${percentile(latencies, 0.99)} ms`,
  );
  open.close();
};

const withPostgres = async (work: (pool: Pool) => Promise<void>): Promise<void> => {
  const url = (await runningPostgresUrl(dataDir)) ?? '';
  const pool = createPool({ url, name: 'bench', max: 1, logger: createLogger('silent') });
  try {
    await work(pool);
  } finally {
    await pool.end();
  }
};

const recordsOfAppend = 2_000;

/** Calls `work` with the append of the product's log. */
const withAppend = async (work: (append: EventLog['append']) => Promise<void>): Promise<void> => {
  const { KAFKA_BROKERS: brokers, KAFKA_TOPIC_PREFIX: prefix } = servers;
  if (brokers === undefined || prefix === undefined) {
    await withPostgres(async (pool) => work(await openPostgresAppend(pool)));
    return;
  }
  const log = openKafkaLog({
    settings: settingsOf({ brokers, prefix }),
    logger: createLogger('silent'),
  });
  await log.ready;
  await work((topic, records) => log.append(topic, records));
  await log.close();
};

/** Appends visits of the account as a spool does. */
const appendVisits = async (append: EventLog['append']): Promise<void> => {
  const source = spoolSource('bench');
  for (let first = 1; first <= visits; first += recordsOfAppend) {
    const records = Array.from(
      { length: Math.min(recordsOfAppend, visits + 1 - first) },
      (_, at) => {
        const { subject, account, data } = randomVisit();
        const sequence = first + at;
        const metadata = { id: String(sequence), source, sequence, subject, account };
        const event = newEvent(
          'LinkVisited',
          { click: null, ...data },
          { ...metadata, time: new Date() },
        );
        return { key: subject, value: writeEvent(event) };
      },
    );
    await append(topics.visits.name, records);
  }
};

const pagesBefore = 50;

const measurePage = async (): Promise<void> => {
  await withPostgres(async (pool) => {
    const insert = `INSERT INTO projection_history.events
        (subject, sequence, time, id, type, account, actor, data, partition, record_offset)
      SELECT prefix || i, 1, now(), gen_random_uuid(), 'linklog.LinkCreated.v4', account, 'system',
        '{"url":"https://example.com/' || i || '","custom":false,"expiresAt":null,"maxClicks":null}',
        i % 8, 1000000 + i
      FROM generate_series(1, $1::integer) i,
        (SELECT $2::text AS prefix, $3::text AS account) names`;
    await pool.query(insert, [1_000, 'small-', 'small']);
    for (let account = 0; account < 10; account += 1) {
      await pool.query(insert, [Math.ceil(events / 10), `other-${account}-`, `other-${account}`]);
    }
    await pool.query('VACUUM ANALYZE projection_history.events');
  });
  const { key } = await product.createKey({ plan: 'PRO', account: 'small' });
  const times: number[] = [];
  // The first ones are slower: the process compiles its code.
  for (let round = -pagesBefore; round < 200; round += 1) {
    const startedAt = performance.now();
    const page = await sendRequest(`${api}/v2/events?limit=1000&types=LinkCreated`, {
      headers: { Authorization: `Bearer ${key}` },
    });
    if (round >= 0) times.push(performance.now() - startedAt);
    const { events: found } = page.json() as { events: unknown[] };
    if (found.length !== 1_000) throw new Error(`the page has ${found.length} events`);
  }
  report(
    `a page of 1,000 events among ${events}`,
    `median ${percentile(times, 0.5).toFixed(0)} ms, p99 ${percentile(times, 0.99).toFixed(0)} ms`,
  );
};

const measureReplay = async (): Promise<void> => {
  await withAppend(appendVisits);
  const startedAt = performance.now();
  const response = await fetch(`${api}/v2/events?types=LinkVisited&after=start`, {
    headers: { ...headers, Accept: 'text/event-stream' },
  });
  let received = 0;
  if (!response.body) throw new Error('the stream has no body');
  for await (const chunk of response.body as ReadableStream<Uint8Array>) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    for (let at = bytes.indexOf('data: {'); at >= 0; at = bytes.indexOf('data: {', at + 1)) {
      received += 1;
    }
    // A message on the border of two chunks is not counted.
    if (received >= visits * 0.99) break;
  }
  const perSecond = received / ((performance.now() - startedAt) / 1_000);
  report('replay of visits', `${Math.round(perSecond)} a second`);
};

const unreadClients = 100;

const openStreamsNow = async (): Promise<number> => {
  let open = 0;
  await withPostgres(async (pool) => {
    const { rows } = await pool.query<{ open: number }>(
      'SELECT count(*) AS open FROM delivery.streams WHERE leased_until > clock_timestamp()',
    );
    open = rows[0]?.open ?? 0;
  });
  return open;
};

/** Clients that request all visits and never read. */
const measureUnread = async (): Promise<void> => {
  const { hostname, port } = new URL(api);
  const keys: string[] = [];
  for (let opened = 0; opened < unreadClients; opened += streamsOfKey) {
    keys.push((await product.createKey({ plan: 'PRO', account: 'default' })).key);
  }
  const before = await product.rssMiB();
  const sockets: Socket[] = [];
  for (const key of keys) {
    for (let index = 0; index < streamsOfKey; index += 1) {
      const socket = connect({ host: hostname, port: Number(port) }).pause();
      sockets.push(socket);
      await once(socket, 'connect');
      socket.write(
        `GET /v2/events?types=LinkVisited&after=start HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n` +
          'Accept: text/event-stream\r\n\r\n',
      );
    }
  }
  let most = before;
  const startedAt = performance.now();
  do {
    await sleep(200);
    most = Math.max(most, await product.rssMiB());
  } while ((await openStreamsNow()) > 0 && performance.now() - startedAt < 300_000);
  const took = Math.round((performance.now() - startedAt) / 1_000);
  report(`memory of ${unreadClients} clients that never read`, `${(most - before).toFixed(0)} MiB`);
  report('of them still connected', `${await openStreamsNow()} after ${took} s`);
  for (const socket of sockets) socket.destroy();
};

try {
  await measureStreams();
  await measurePage();
  await measureReplay();
  await measureUnread();
  process.stdout.write(markdownTable(['Figure', 'Value'], rows));
} finally {
  await product.stop();
  await rm(dataDir, { recursive: true, force: true });
  await endShared();
}
