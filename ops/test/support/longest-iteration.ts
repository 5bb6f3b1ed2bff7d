import { writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/**
 * Preloaded by a benchmark: measures the longest iteration of the event loop of the main thread, in ms, without its
 * wait for I/O. At SIGUSR2, writes it to the file of LONGEST_ITERATION_FILE, and starts again at 0. Takes a whole core.
 */
const file = process.env['LONGEST_ITERATION_FILE'];

if (isMainThread && file !== undefined) {
  let longest = 0;
  let last = performance.now();
  const iterate = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    // A pending immediate keeps the loop from waiting for I/O.
    setImmediate(iterate);
  };
  setImmediate(iterate);
  process.on('SIGUSR2', () => {
    writeFileSync(file, String(longest));
    longest = 0;
    last = performance.now();
  });
}
