import { SingleBar } from 'cli-progress';
import { onEndSignals } from '../../platform/process/run-to-end.js';
import { CliError } from './errors.js';
import { count } from './output.js';

/** What a person is told who ends the work. */
export interface Interruption {
  /** The work stopped, and cleaned up after itself. */
  readonly stopped: string;
  /** Asked a second time, the process ended at once. */
  readonly ended: string;
}

/** What long work takes beside its subject. */
export interface Watch {
  readonly progress?: ((done: number, total: number) => void) | undefined;
  /** Ends the work, which then cleans up after itself. */
  readonly signal?: AbortSignal | undefined;
}

/** Runs `work` with a signal that SIGINT or SIGTERM aborts. A second one ends the process at once. */
export const interruptible = async <Result>(
  { stopped, ended }: Interruption,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> => {
  const controller = new AbortController();
  const reason = new CliError('INTERRUPTED', stopped);
  const forget = onEndSignals({
    first: () => {
      controller.abort(reason);
    },
    again: () => {
      process.stderr.write(`\nlinklog: ${ended}\n`);
      process.exit(reason.exitCode);
    },
  });
  try {
    return await work(controller.signal);
  } finally {
    forget();
  }
};

/** Seconds since a `performance.now()`, to the hundredth. */
export const secondsSince = (started: number): number =>
  Math.round((performance.now() - started) / 10) / 100;

export interface Progress {
  update(done: number, total: number): void;
  stop(): void;
}

const lineEveryMs = 3_000;

const percent = (done: number, total: number): string =>
  `${total === 0 ? 100 : Math.floor((done / total) * 100)} %`;

/** Where there is no terminal: a line at the start, then at most one every three seconds. */
export const progressLines = (
  what: string,
  write: (line: string) => void,
  now: () => number = () => performance.now(),
): Progress => {
  let last = -Infinity;
  return {
    update(done, total) {
      if (now() - last < lineEveryMs) return;
      last = now();
      write(`${what}: ${count(done)} of ${count(total)} events (${percent(done, total)})\n`);
    },
    stop: () => undefined,
  };
};

const progressBar = (what: string): Progress => {
  const bar = new SingleBar({
    stream: process.stderr,
    format: `${what} {bar} {percentage} % | {value} of {total} events | {eta_formatted} left`,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    formatValue: (value, _options, type) =>
      type === 'value' || type === 'total' ? count(value) : String(value),
    // Text (`NULL`, `INF`) until there is an estimate.
    formatTime: (seconds: unknown) => (typeof seconds === 'number' ? `${count(seconds)} s` : '?'),
    // `interruptible` handles the signals.
    gracefulExit: false,
    // A process that ends at once could not show the cursor again.
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

/** On stderr: a bar on a terminal, else lines. */
export const showProgress = (what: string): Progress =>
  process.stderr.isTTY
    ? progressBar(what)
    : progressLines(what, (line) => process.stderr.write(line));
