import { fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { constants, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** Requests of one kind, sent at a steady rate whatever becomes of them. */
export interface Stream {
  readonly name: string;
  readonly perSecond: number;
  /** Asked for in turn. */
  readonly urls: readonly string[];
  /** The body of a form that is posted, each `{n}` the number of the request; a GET without. */
  readonly form: string | null;
  /** The addresses that the requests come from in turn, as a proxy tells them; none: the load's own. */
  readonly clients: readonly string[];
}

export interface LoadPlan {
  readonly streams: readonly Stream[];
  readonly ms: number;
  /** Sent in the beginning and not measured: until then the code is cold. */
  readonly warmUpMs: number;
  /**
   * Whether it gives way to what it loads, as a load from another machine would. A load that is measured
   * does not, and where that is allowed it goes first: its own wait for a core is no answer's time.
   */
  readonly givesWay: boolean;
}

export interface StreamResult {
  readonly sent: number;
  /** How often each status was answered, and each error happened. */
  readonly answers: Readonly<Record<string, number>>;
  /** Of what was answered, in milliseconds, ascending. */
  readonly times: readonly number[];
  readonly p50: number;
  readonly p99: number;
}

export type LoadResult = Readonly<Record<string, StreamResult>>;

const tickMs = 2;
/**
 * Of the steady rate, until what was missed is sent. A load shares the machine with what it loads, and
 * waits for a core at times: to send at once all that was due by then would be a flood in bursts, which
 * clients elsewhere would not send.
 */
const catchUpRate = 2;
/** For the last answers. */
const timeoutMs = 20_000;
const linesOfStream = 100;

const percentile = (ascending: readonly number[], share: number): number =>
  ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? NaN;

const resultOf = (
  sent: number,
  answers: StreamResult['answers'],
  unordered: readonly number[],
): StreamResult => {
  const times = unordered.toSorted((a, b) => a - b);
  return { sent, answers, times, p50: percentile(times, 0.5), p99: percentile(times, 0.99) };
};

/** Streams taken for one. */
export const pooled = (results: readonly StreamResult[]): StreamResult => {
  const answers: Record<string, number> = {};
  for (const result of results) {
    for (const [status, count] of Object.entries(result.answers)) {
      answers[status] = (answers[status] ?? 0) + count;
    }
  }
  const sent = results.reduce((sum, result) => sum + result.sent, 0);
  return resultOf(
    sent,
    answers,
    results.flatMap(({ times }) => times),
  );
};

let lastClient = Math.trunc(Math.random() * 2 ** 24);

/** So many addresses that were not given before, one beside the other. */
export const newClients = (count: number): readonly string[] =>
  Array.from({ length: count }, () => {
    lastClient += 1;
    return [10, lastClient >> 16, lastClient >> 8, lastClient].map((part) => part & 255).join('.');
  });

const bytesOf = (stream: Stream, number: number): string => {
  const { urls, clients } = stream;
  const form = stream.form?.replaceAll('{n}', String(number)) ?? null;
  const target = new URL(urls[number % urls.length] ?? '').pathname;
  const client = clients[number % clients.length];
  const from = client === undefined ? '' : `X-Forwarded-For: ${client}\r\n`;
  if (form === null) return `GET ${target} HTTP/1.1\r\nHost: a\r\n${from}\r\n`;
  const type = 'Content-Type: application/x-www-form-urlencoded';
  const head = `POST ${target} HTTP/1.1\r\nHost: a\r\n${from}${type}\r\n`;
  return `${head}Content-Length: ${form.length}\r\n\r\n${form}`;
};

interface Line {
  readonly socket: Socket;
  /** Who waits for an answer, in the order of asking. */
  readonly waiting: ((outcome: string) => void)[];
}

/**
 * Connections of which only the status lines are read: they must cost little beside the product. One
 * is opened when all others wait for answers, as clients would: a connection that asks nothing is
 * ended by the server, and hundreds at once take it longer than many an answer.
 */
const openLines = (url: string) => {
  const { hostname: host, port } = new URL(url);
  const lines = new Set<Line>();

  const open = (): Line => {
    const socket = connect({ host, port: Number(port), noDelay: true });
    const line: Line = { socket, waiting: [] };
    lines.add(line);
    let rest = '';
    socket.setEncoding('latin1').on('data', (text: string) => {
      const whole = rest + text;
      let end = 0;
      for (const match of whole.matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
        line.waiting.shift()?.(match[1] ?? '');
        end = match.index + match[0].length;
      }
      // A status line may come in pieces.
      rest = whole.slice(Math.max(end, whole.length - 16));
    });
    // A server may close a connection behind a refusal.
    const lose = (): void => {
      lines.delete(line);
      for (const tell of line.waiting.splice(0)) tell('lost');
    };
    socket.on('error', lose).on('close', lose);
    return line;
  };

  const leastBusy = (): Line => {
    let best: Line | undefined;
    for (const line of lines) {
      if (line.waiting.length === 0) return line;
      if (line.waiting.length < (best?.waiting.length ?? Infinity)) best = line;
    }
    return best && lines.size >= linesOfStream ? best : open();
  };

  return {
    /** Resolves to the answer's status, or to `lost`. */
    ask(bytes: string): Promise<string> {
      const { socket, waiting } = leastBusy();
      socket.write(bytes);
      return new Promise((resolve) => waiting.push(resolve));
    },
    close(): void {
      for (const { socket } of lines) socket.destroy();
    },
  };
};

const runStream = async (
  stream: Stream,
  { ms, warmUpMs }: Pick<LoadPlan, 'ms' | 'warmUpMs'>,
): Promise<StreamResult> => {
  const answers: Record<string, number> = {};
  const times: number[] = [];
  /** Requests without an answer. Promises of millions of them, kept to the end, would not fit into memory. */
  let open = 0;
  let over: (() => void) | undefined;
  const lines = openLines(stream.urls[0] ?? '');
  const atOnce = Math.ceil((catchUpRate * stream.perSecond * tickMs) / 1_000);
  const began = performance.now();
  let started = 0;
  let sent = 0;
  for (;;) {
    const elapsed = performance.now() - began;
    if (elapsed >= ms) break;
    const due = Math.min((elapsed * stream.perSecond) / 1_000, started + atOnce);
    for (; started < due; started += 1) {
      const at = performance.now();
      const measured = at - began >= warmUpMs;
      if (measured) sent += 1;
      open += 1;
      void lines.ask(bytesOf(stream, started)).then((outcome) => {
        open -= 1;
        if (open === 0) over?.();
        if (!measured) return;
        answers[outcome] = (answers[outcome] ?? 0) + 1;
        times.push(performance.now() - at);
      });
    }
    await sleep(tickMs);
  }
  const answered = new Promise<void>((resolve) => {
    over = resolve;
    if (open === 0) resolve();
  });
  await Promise.race([answered, sleep(timeoutMs, null, { ref: false })]);
  lines.close();
  return resultOf(sent, answers, times);
};

/** Runs a plan in a process of its own, so that no two loads wait for each other's event loop. */
export const runLoad = async (plan: LoadPlan): Promise<LoadResult> => {
  // As JSON, the times of millions of answers take longer than the load.
  const child = fork(fileURLToPath(import.meta.url), [], {
    stdio: 'inherit',
    serialization: 'advanced',
  });
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

/**
 * Even a process of the lowest priority takes a core from others at times; one of the idle class, which
 * is Linux's, does not.
 */
const giveWay = (): void => {
  setPriority(constants.priority.PRIORITY_LOW);
  spawnSync('chrt', ['--all-tasks', '--idle', '--pid', '0', String(process.pid)]);
};

/** Raising a priority is for root. */
const goFirst = (): void => {
  try {
    setPriority(constants.priority.PRIORITY_HIGH);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SYSTEM_ERROR') throw error;
  }
};

if (process.send && process.argv[1] === fileURLToPath(import.meta.url)) {
  // Not `once`: a listener keeps the process from ending by itself, before its result has arrived.
  process.on('message', (plan: LoadPlan) => {
    if (plan.givesWay) giveWay();
    else goFirst();
    void Promise.all(plan.streams.map((stream) => runStream(stream, plan))).then((results) => {
      const named = plan.streams.map(({ name }, index) => [name, results[index]]);
      process.send?.(Object.fromEntries(named));
    });
  });
}
