import { SingleBar } from 'cli-progress';
import { count } from './output.js';

/** Tells how far something is. */
export interface Progress {
  update(done: number, total: number): void;
  stop(): void;
}

const lineEveryMs = 3_000;

const percent = (done: number, total: number): string =>
  `${total === 0 ? 100 : Math.floor((done / total) * 100)} %`;

/** A line now and then, for files and pipes. */
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

const progressBar = (what: string, stream: NodeJS.WriteStream): Progress => {
  const bar = new SingleBar({
    stream,
    format: `${what} {bar} {percentage} % | {value} of {total} events | {eta_formatted} left`,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    formatValue: (value, _options, type) =>
      type === 'value' || type === 'total' ? count(value) : String(value),
    // Text (`NULL`, `INF`) while there is nothing to judge by.
    formatTime: (seconds: unknown) => (typeof seconds === 'number' ? `${count(seconds)} s` : '?'),
    // The signals are the command's own matter.
    gracefulExit: false,
    // Who ends it at once gets the terminal back as it was.
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

/** A bar on a terminal, else lines. */
export const showProgress = (what: string, stream: NodeJS.WriteStream): Progress =>
  stream.isTTY ? progressBar(what, stream) : progressLines(what, (line) => stream.write(line));
