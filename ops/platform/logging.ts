import { destination, pino, type Logger } from 'pino';

export type { Logger } from 'pino';

/** Selects the fields of an error to log, without PostgreSQL's `detail` and others that may quote stored values. */
const describeError = (error: unknown): unknown => {
  if (!(error instanceof Error)) return String(error);
  const { name, message, stack, cause } = error;
  const code = (error as { code?: unknown }).code;
  return {
    type: name,
    message,
    ...(code !== undefined && { code }),
    stack,
    ...(cause !== undefined && { cause: describeError(cause) }),
  };
};

/** Fields that are removed at the top level and one level below. */
const secrets = ['key', 'password', 'passwordHash', 'url', 'address'];

/** Characters of a request path in a log line, because a client may send 15 KB. */
const maxPathLength = 200;

/**
 * Logs JSON lines to stderr, because stdout has the ready line. Callers must not log API keys, full addresses or
 * destinations; the redaction is a safety net.
 */
export const createLogger = (level: string): Logger =>
  pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: {
        err: describeError,
        path: (path: unknown) => String(path).slice(0, maxPathLength),
      },
      redact: {
        paths: [
          'authorization',
          'headers.authorization',
          ...secrets.flatMap((name) => [name, `*.${name}`]),
        ],
        remove: true,
      },
    },
    destination({ fd: 2, sync: false }),
  );

/**
 * Limits the log lines of frequent events to the first `lines` in each `everyMs`. The returned function takes the time of
 * an event (ms), and returns the number of omitted events since the last line; `null` if the event must be omitted.
 */
export const createFloodLog = (
  everyMs: number,
  lines: number,
): ((now: number) => number | null) => {
  let endsAt = -Infinity;
  let left = 0;
  let unlogged = 0;
  return (now) => {
    if (now >= endsAt) {
      endsAt = now + everyMs;
      left = lines;
    }
    if (left === 0) {
      unlogged += 1;
      return null;
    }
    left -= 1;
    const before = unlogged;
    unlogged = 0;
    return before;
  };
};

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
