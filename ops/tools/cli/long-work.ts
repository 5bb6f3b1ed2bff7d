import { SingleBar } from 'cli-progress';
import { hasCode } from '../../platform/errors.js';
import { onEndSignals } from '../../platform/process/lifecycle.js';
import { CliError } from './errors.js';
import { count } from './output.js';

/** The messages for a user who interrupts the work. */
export interface Interruption {
  /** Names the work, such as `the backup`. */
  readonly work: string;
  /** The state after the first signal, when the work has cleaned up. */
  readonly stopped?: string | undefined;
  /** The state after the second signal, which ends the process immediately; by default the same. */
  readonly killed?: string | undefined;
}

const interrupted = (how: string, state = ''): string => (state === '' ? how : `${how}; ${state}`);

export interface ProgressOptions {
  readonly progress?: ((done: number, total: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Runs `work` with a signal that SIGINT or SIGTERM aborts. A second one ends the process immediately. */
export const interruptible = async <Result>(
  { work: name, stopped, killed = stopped }: Interruption,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> => {
  const controller = new AbortController();
  const reason = new CliError('INTERRUPTED', interrupted(`${name} was stopped`, stopped));
  const forget = onEndSignals({
    first: () => {
      controller.abort(reason);
    },
    again: () => {
      process.stderr.write(`\nlinklog: ${interrupted(`${name} was killed`, killed)}\n`);
      process.exit(reason.exitCode);
    },
  });
  try {
    return await work(controller.signal);
  } finally {
    forget();
  }
};

type Work = (signal: AbortSignal) => Promise<void>;

/** Runs work until the exit of the reader of stdout, such as head, which is a success. */
export const untilReaderExits = async (work: Work): Promise<void> => {
  const controller = new AbortController();
  const end = (): void => {
    controller.abort();
  };
  // Only EPIPE gets here: main.ts exits after other errors.
  process.stdout.on('error', end);
  try {
    await work(controller.signal);
  } catch (error) {
    if (!controller.signal.aborted && !hasCode(error, 'EPIPE')) throw error;
  } finally {
    process.stdout.off('error', end);
  }
};

/** Runs work without an end until SIGINT, SIGTERM, or the exit of the reader of stdout, all of which are successes. */
export const untilEnded = (work: Work): Promise<void> =>
  untilReaderExits(async (readerExited) => {
    const controller = new AbortController();
    const forget = onEndSignals({
      first: () => {
        controller.abort();
      },
      again: () => process.exit(130),
    });
    try {
      await work(AbortSignal.any([readerExited, controller.signal]));
    } catch (error) {
      if (!controller.signal.aborted) throw error;
    } finally {
      forget();
    }
  });

/** Seconds since a `performance.now()`, with two decimals. */
export const secondsSince = (started: number): number =>
  Math.round((performance.now() - started) / 10) / 100;

export interface Progress {
  update(done: number, total: number): void;
  stop(): void;
}

const lineIntervalMs = 3_000;

const percent = (done: number, total: number): string =>
  `${total === 0 ? 100 : Math.floor((done / total) * 100)} %`;

/** Without a terminal: a line at the start, then at most one every three seconds. */
export const progressLines = (
  title: string,
  write: (line: string) => void,
  now: () => number = () => performance.now(),
): Progress => {
  let last = -Infinity;
  return {
    update(done, total) {
      if (now() - last < lineIntervalMs) return;
      last = now();
      write(`${title}: ${count(done)} of ${count(total)} events (${percent(done, total)})\n`);
    },
    stop: () => undefined,
  };
};

const progressBar = (title: string): Progress => {
  const bar = new SingleBar({
    stream: process.stderr,
    format: `${title} {bar} {percentage} % | {value} of {total} events | {eta_formatted} left`,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    formatValue: (value, _options, type) =>
      type === 'value' || type === 'total' ? count(value) : String(value),
    // A string (`NULL`, `INF`) until there is an estimate.
    formatTime: (seconds: unknown) => (typeof seconds === 'number' ? `${count(seconds)} s` : '?'),
    // `interruptible` handles the signals.
    gracefulExit: false,
    // A killed process could not show the cursor again.
    hideCursor: false,
    linewrap: true,
  });
  let started = false;
  return {
    update(done, total) {
      if (!started) bar.start(total, done);
      started = true;
      bar.setTotal(total);
      bar.update(done);
    },
    stop() {
      if (started) bar.stop();
    },
  };
};

/** Writes to stderr: a bar on a terminal, otherwise lines. */
export const showProgress = (title: string): Progress =>
  process.stderr.isTTY
    ? progressBar(title)
    : progressLines(title, (line) => process.stderr.write(line));
