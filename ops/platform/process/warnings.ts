import type { Logger } from '../logging.js';

/** Reports the warnings of Node.js and of libraries in this thread, which Node.js would print on stderr as text. */
export const reportWarnings = (report: (warning: Error) => void): void => {
  process.removeAllListeners('warning');
  process.on('warning', report);
};

export const logWarnings = (logger: Logger): void => {
  reportWarnings((err) => {
    logger.warn({ err }, 'node.js emitted a warning');
  });
};
