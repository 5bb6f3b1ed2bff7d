import { constants, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode } from '../../platform/errors.js';
import { runForked, serveForked } from './forked.js';
import { openStatusClient, type StatusClient } from './status-client.js';

/** Requests of one kind, sent at a constant rate: the rate does not depend on the responses. */
export interface Stream {
  readonly name: string;
  readonly perSecond: number;
  /** Used round-robin. */
  readonly urls: readonly string[];
  /** The body of a form to post, `{n}` replaced by the number of the request; `null`: GET. */
  readonly form: string | null;
  /** Addresses for `X-Forwarded-For`, used round-robin; empty: no header. */
  readonly clients: readonly string[];
}

export interface LoadPlan {
  readonly streams: readonly Stream[];
  readonly ms: number;
  /** Requests of this time at the start are not measured. */
  readonly warmUpMs: number;
  /** `low`: leaves CPU time to the product; `high`: for measured loads. */
  readonly priority: 'low' | 'high';
}

export interface StreamResult {
  readonly sent: number;
  /** The number of responses by status, and of lost requests (`lost`). */
  readonly statuses: Readonly<Record<string, number>>;
  /** The 99th percentile of the response time, ms. */
  readonly p99: number;
}

export type LoadResult = Readonly<Record<string, StreamResult>>;

const tickMs = 2;
/** Multiple of the rate after a delay of this process: sending the whole backlog would be a burst. */
const catchUpRate = 2;
/** For the last responses. */
const timeoutMs = 20_000;
const connectionsOfStream = 100;

let lastClient = Math.trunc(Math.random() * 2 ** 24);

/** Consecutive addresses that no earlier call returned. */
export const newClients = (count: number): readonly string[] =>
  Array.from({ length: count }, () => {
    lastClient += 1;
    return [10, lastClient >> 16, lastClient >> 8, lastClient].map((part) => part & 255).join('.');
  });

const requestText = ({ urls, clients, form }: Stream, number: number): string => {
  const target = new URL(urls[number % urls.length] ?? '').pathname;
  const client = clients[number % clients.length];
  const from = client === undefined ? '' : `X-Forwarded-For: ${client}\r\n`;
  if (form === null) return `GET ${target} HTTP/1.1\r\nHost: a\r\n${from}\r\n`;
  const body = form.replaceAll('{n}', String(number));
  const type = 'Content-Type: application/x-www-form-urlencoded';
  const head = `POST ${target} HTTP/1.1\r\nHost: a\r\n${from}${type}\r\n`;
  return `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
};

/** Opens a connection only when all others wait for responses: the server closes idle connections. */
const openPool = (url: string) => {
  const clients = new Set<StatusClient>();
  const leastBusy = (): StatusClient => {
    let best: StatusClient | undefined;
    for (const client of clients) {
      if (client.pending() === 0) return client;
      if (client.pending() < (best?.pending() ?? Infinity)) best = client;
    }
    if (best && clients.size >= connectionsOfStream) return best;
    const opened = openStatusClient(url, (closed) => clients.delete(closed));
    clients.add(opened);
    return opened;
  };
  return {
    send: (request: string): Promise<string> => leastBusy().send(request),
    close(): void {
      for (const client of clients) client.close();
    },
  };
};

const runStream = async (
  stream: Stream,
  { ms, warmUpMs }: Pick<LoadPlan, 'ms' | 'warmUpMs'>,
): Promise<StreamResult> => {
  const statuses: Record<string, number> = {};
  const times: number[] = [];
  // A counter: millions of promises would not fit into memory.
  let open = 0;
  let over: (() => void) | undefined;
  const pool = openPool(stream.urls[0] ?? '');
  const mostPerTick = Math.ceil((catchUpRate * stream.perSecond * tickMs) / 1_000);
  const startedAt = performance.now();
  let started = 0;
  let sent = 0;
  for (;;) {
    const elapsed = performance.now() - startedAt;
    if (elapsed >= ms) break;
    const due = Math.min((elapsed * stream.perSecond) / 1_000, started + mostPerTick);
    for (; started < due; started += 1) {
      const sentAt = performance.now();
      const isMeasured = sentAt - startedAt >= warmUpMs;
      if (isMeasured) sent += 1;
      open += 1;
      void pool.send(requestText(stream, started)).then((status) => {
        open -= 1;
        if (open === 0) over?.();
        if (!isMeasured) return;
        statuses[status] = (statuses[status] ?? 0) + 1;
        times.push(performance.now() - sentAt);
      });
    }
    await sleep(tickMs);
  }
  const responded = new Promise<void>((resolve) => {
    over = resolve;
    if (open === 0) resolve();
  });
  await Promise.race([responded, sleep(timeoutMs, null, { ref: false })]);
  pool.close();
  times.sort((a, b) => a - b);
  return { sent, statuses, p99: times[Math.floor(times.length * 0.99)] ?? NaN };
};

/** Runs the plan in another process, so that concurrent loads do not share an event loop. */
export const runLoad = (plan: LoadPlan): Promise<LoadResult> => runForked(import.meta.url, plan);

serveForked(import.meta.url, async (plan: LoadPlan): Promise<LoadResult> => {
  const { PRIORITY_LOW, PRIORITY_HIGH } = constants.priority;
  try {
    setPriority(plan.priority === 'low' ? PRIORITY_LOW : PRIORITY_HIGH);
  } catch (error) {
    // Only root may raise a priority.
    if (!hasCode(error, 'ERR_SYSTEM_ERROR')) throw error;
  }
  const results = plan.streams.map(async (stream) => {
    return [stream.name, await runStream(stream, plan)] as const;
  });
  return Object.fromEntries(await Promise.all(results));
});
