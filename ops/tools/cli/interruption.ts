import { onEndSignals } from '../../platform/process/end-signals.js';
import { CliError } from './errors.js';

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
  const forget = onEndSignals({
    first: () => {
      controller.abort(reason);
    },
    again: () => {
      process.stderr.write(`\nlinklog: ${words.lastWords}\n`);
      process.exit(reason.exitCode);
    },
  });
  try {
    return await work(controller.signal);
  } finally {
    forget();
  }
};
