import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ask } from '../testing/http.js';

/** Requests of one kind, sent at a steady rate whatever becomes of them. */
export interface Stream {
  readonly name: string;
  readonly perSecond: number;
  /** Asked for in turn. */
  readonly urls: readonly string[];
  /** The body of a form that is posted; a GET without. */
  readonly form: string | null;
  /** Whether each request comes from an address of its own, as a proxy tells it. */
  readonly manyClients: boolean;
}

export interface LoadPlan {
  readonly streams: readonly Stream[];
  readonly ms: number;
  /** Sent in the beginning and not measured: until then the code is cold. */
  readonly warmUpMs: number;
}

export interface StreamResult {
  readonly sent: number;
  /** How often each status was answered, and each error happened. */
  readonly answers: Readonly<Record<string, number>>;
  /** Of what was answered, in milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

export type LoadResult = Readonly<Record<string, StreamResult>>;

const tickMs = 2;
const timeoutMs = 20_000;

const percentile = (ascending: readonly number[], share: number): number =>
  ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? NaN;

/** An address of its own for each number. */
const addressOf = (number: number): string =>
  [10, number >> 16, number >> 8, number].map((part) => part & 255).join('.');

let clients = Math.trunc(Math.random() * 2 ** 24);

const requestOf = (stream: Stream, number: number): Promise<number> => {
  const { urls, form, manyClients } = stream;
  const url = urls[number % urls.length] ?? '';
  if (manyClients) clients += 1;
  const headers = {
    ...(form !== null && { 'Content-Type': 'application/x-www-form-urlencoded' }),
    ...(manyClients && { 'X-Forwarded-For': addressOf(clients) }),
  };
  const options = form === null ? { headers } : { headers, method: 'POST', body: form };
  return ask(url, { ...options, timeoutMs }).then(({ status }) => status);
};

const runStream = async (
  stream: Stream,
  { ms, warmUpMs }: Omit<LoadPlan, 'streams'>,
): Promise<StreamResult> => {
  const answers: Record<string, number> = {};
  const times: number[] = [];
  const open: Promise<void>[] = [];
  const began = performance.now();
  let started = 0;
  let sent = 0;
  for (;;) {
    const elapsed = performance.now() - began;
    if (elapsed >= ms) break;
    for (const due = (elapsed * stream.perSecond) / 1_000; started < due; started += 1) {
      const at = performance.now();
      const measured = at - began >= warmUpMs;
      if (measured) sent += 1;
      const request = requestOf(stream, started).then(String, (error: unknown) => {
        return (error as NodeJS.ErrnoException).code ?? String(error);
      });
      open.push(
        request.then((outcome) => {
          if (!measured) return;
          answers[outcome] = (answers[outcome] ?? 0) + 1;
          times.push(performance.now() - at);
        }),
      );
    }
    await sleep(tickMs);
  }
  await Promise.all(open);
  times.sort((a, b) => a - b);
  return { sent, answers, p50: percentile(times, 0.5), p99: percentile(times, 0.99) };
};

/** Runs a plan in a process of its own, so that no two loads wait for each other's event loop. */
export const runLoad = async (plan: LoadPlan): Promise<LoadResult> => {
  const child = fork(fileURLToPath(import.meta.url), [], { stdio: 'inherit' });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`A load ended with ${String(code)} before its result`);
  });
  try {
    child.send(plan);
    const [result] = (await Promise.race([once(child, 'message'), ended])) as [LoadResult];
    return result;
  } finally {
    child.kill();
    // The end that was asked for.
    ended.catch(() => undefined);
  }
};

if (process.send && process.argv[1] === fileURLToPath(import.meta.url)) {
  process.once('message', (plan: LoadPlan) => {
    void Promise.all(plan.streams.map((stream) => runStream(stream, plan))).then((results) => {
      const named = plan.streams.map(({ name }, index) => [name, results[index]]);
      process.send?.(Object.fromEntries(named));
    });
  });
}
