import { CliError } from './errors.js';

/** One Ctrl-C may come twice, from the terminal and from npm: only a later one is a second one. */
const againAfterMs = 500;

/**
 * Runs `work` with a signal that SIGINT or SIGTERM aborts; its reason says `message`. Who asks a
 * second time does not want to wait: that ends the process at once, after `lastWords`.
 */
export const interruptible = async <Result>(
  words: { readonly message: string; readonly lastWords: string },
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> => {
  const controller = new AbortController();
  const reason = new CliError('INTERRUPTED', words.message);
  let askedAt: number | null = null;
  const onSignal = (): void => {
    if (askedAt === null) {
      askedAt = performance.now();
      controller.abort(reason);
    } else if (performance.now() - askedAt > againAfterMs) {
      process.stderr.write(`\nlinklog: ${words.lastWords}\n`);
      process.exit(reason.exitCode);
    }
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  try {
    return await work(controller.signal);
  } finally {
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
  }
};
