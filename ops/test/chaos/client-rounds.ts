import { rm } from 'node:fs/promises';
import pLimit from 'p-limit';
import { AbortError, Linklog } from '../../clients/typescript/src/index.js';
import { retry } from '../../platform/concurrency/retry.js';
import { nullOnThrow } from '../../platform/errors.js';
import { createThrough, EventCheck, exportCodes, linkFaults } from '../support/client-check.js';
import { withLedger } from '../support/ledger-events.js';
import { startLossyProxy } from '../support/lossy-proxy.js';
import { generousPlansFile } from '../support/plans.js';
import { temporaryDir } from '../support/process.js';
import { issueKey } from '../support/product.js';
import { seededRandom } from '../support/random.js';
import { startStackProcess, type RunningStack } from '../support/stack.js';
import { eventually } from '../support/waiting.js';
import { unsentEvents } from './log-check.js';
import { LogCopy } from './log-copy.js';
import { catchUpFromKafka } from './log-sources.js';

interface ClientRoundsOptions {
  /** Creations, each of which the client repeats up to five times. */
  readonly links: number;
  /** Events of these links in all. */
  readonly events: number;
  readonly seed: number;
  readonly onProgress?: (line: string) => void;
}

interface Outcome {
  readonly figures: Readonly<Record<string, number>>;
  /** Descriptions of broken promises. */
  readonly broken: readonly string[];
}

const killEveryMs = 5_000;
const concurrency = 50;
/** Links of a bulk call. */
const bulkSize = 100;
const idleWithinMs = 120_000;
/** A stream that does not receive an event for this time has lost the missing ones. */
const lostAfterMs = 120_000;

const isAlive = (pid: number): boolean => nullOnThrow(() => process.kill(pid, 0), 'ESRCH') !== null;

/** Kills (-9) an API every 5 s, while the other ones run; the supervisor restarts it. */
const startKiller = (stack: RunningStack, seed: number) => {
  const random = seededRandom(seed);
  let kills = 0;
  const timer = setInterval(() => {
    const { api } = stack.pids;
    const pid = api[random.below(api.length)];
    if (pid === undefined || !api.every(isAlive)) return;
    process.kill(pid, 'SIGKILL');
    kills += 1;
  }, killEveryMs);
  return {
    kills: () => kills,
    stop() {
      clearInterval(timer);
    },
  };
};

/**
 * Changes the tags of links, round by round. A call without a response is repeated at another API: the same tags are no
 * event.
 */
const writeEvents = async (
  clients: readonly Linklog[],
  codes: readonly string[],
  count: number,
): Promise<void> => {
  for (let round = 0; round * codes.length < count; round += 1) {
    const changed = codes.slice(0, count - round * codes.length);
    const starts = changed.flatMap((_, index) => (index % bulkSize === 0 ? index : []));
    await pLimit(4).map(starts, (start) => {
      let attempts = 0;
      return retry(
        async () => {
          attempts += 1;
          const client = clients[attempts % clients.length];
          const shortCodes = changed.slice(start, start + bulkSize);
          const change = { tags: [`round-${round}`] };
          const response = await client?.links.bulk({ shortCodes, change });
          const failed = response?.results.find(({ success }) => !success);
          if (!response || failed) throw new Error(`a change failed: ${JSON.stringify(failed)}`);
        },
        { attempts: 600 },
      );
    });
  }
};

/** Reads all events of links, while more of them are written. @param write returns the source and id of each */
const readWhile = async (client: Linklog, write: () => Promise<ReadonlySet<string>>) => {
  const check = new EventCheck();
  const connection = new AbortController();
  const { signal } = connection;
  let failures = 0;
  let lastAt = 0;
  const query = { after: 'start', types: ['LinkCreated', 'LinkDescribed'] };
  const onRetry = (): void => void (failures += 1);
  const read = (async () => {
    try {
      const options = { signal, onRetry, idleTimeoutMs: 5_000 };
      for await (const event of client.events.stream(query, options)) {
        check.add(event);
        lastAt = performance.now();
      }
    } catch (error) {
      if (!(error instanceof AbortError)) check.faults.push(`the stream ended: ${String(error)}`);
    }
  })();
  let written: ReadonlySet<string>;
  try {
    written = await write();
    lastAt = performance.now();
    const isEnd = (): boolean =>
      check.received.size >= written.size || performance.now() - lastAt > lostAfterMs;
    await eventually('the stream has all events, or receives none', isEnd, Infinity);
  } finally {
    connection.abort();
    await read;
  }
  const missing = [...written].filter((event) => !check.received.has(event));
  const unknown = [...check.received].filter((event) => !written.has(event));
  return {
    ...{ received: check.received.size, failures },
    broken: [
      ...check.faults,
      ...missing.map((event) => `the stream lost ${event}`),
      ...unknown.map((event) => `the log does not have ${event}`),
    ],
  };
};

/**
 * Creates links with the client through a lossy proxy, while APIs of a stack are killed, and reads the events of these
 * links through the same proxy. Kafka has the truth.
 */
export const clientRounds = async (options: ClientRoundsOptions): Promise<Outcome> => {
  const { links, events, seed, onProgress = () => undefined } = options;
  const startedAt = performance.now();
  const seconds = (): number => Math.round((performance.now() - startedAt) / 1_000);
  const folder = await temporaryDir();
  const env = { PLANS_FILE: await generousPlansFile(folder), LOG_LEVEL: 'error' };
  const stack = await startStackProcess(env, ['--apis', '2']);
  const proxy = await startLossyProxy(stack.apis, { random: seededRandom(seed), share: 0.2 });
  const { key } = await issueKey(stack, { plan: 'PRO', account: 'client' });
  const client = new Linklog({ key, baseUrl: proxy.url, maxRetries: 5, timeoutMs: 5_000 });
  const direct = stack.apis.map((baseUrl) => new Linklog({ key, baseUrl, maxRetries: 20 }));
  const log = new LogCopy();
  const catchUp = catchUpFromKafka(stack.kafka);
  const killer = startKiller(stack, seed + 1);
  try {
    onProgress(`the stack is ready after ${seconds()} s`);
    const returned = await createThrough(client, links, concurrency);
    onProgress(`${returned.size} of ${links} links are created after ${seconds()} s`);

    const stream = await readWhile(client, async () => {
      await writeEvents(direct, [...returned.values()], events - returned.size);
      await withLedger(stack, (pool) => {
        const isRelayed = async (): Promise<boolean> => (await unsentEvents(pool)).length === 0;
        return eventually('the outbox is empty', isRelayed, idleWithinMs);
      });
      await catchUp(log);
      onProgress(`${log.linkEvents.size} events are written after ${seconds()} s`);
      return log.linkEvents;
    });
    killer.stop();
    onProgress(`the stream is read after ${seconds()} s`);

    let existing: ReadonlyMap<string, readonly string[]> = new Map();
    const isListed = async (): Promise<boolean> => {
      for (const api of direct) existing = await exportCodes(api);
      return existing.size >= log.linksTo.size;
    };
    await eventually('the list has all links', isListed, idleWithinMs);
    const created = new Map<string, readonly string[]>();
    for (const [code, creations] of log.creations) {
      for (const { url } of creations) created.set(url, [...(created.get(url) ?? []), code]);
    }
    return {
      figures: {
        seed,
        creations: links,
        'links returned': returned.size,
        'creations that failed': links - returned.size,
        'links in the list': [...existing.values()].flat().length,
        'LinkCreated in Kafka': [...created.values()].flat().length,
        'events of links in Kafka': log.linkEvents.size,
        'events of the stream': stream.received,
        'connections of the stream that failed': stream.failures,
        'kills of an API': killer.kills(),
        ...proxy.counts(),
        seconds: seconds(),
      },
      broken: [
        ...linkFaults(returned, existing),
        ...linkFaults(returned, created).map((fault) => `in Kafka: ${fault}`),
        ...stream.broken,
        ...log.faults,
        ...log.gaps(),
      ],
    };
  } finally {
    killer.stop();
    await proxy.close();
    await stack.stop();
    await rm(folder, { recursive: true });
  }
};
