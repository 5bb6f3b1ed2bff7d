import { destination, pino, type Logger } from 'pino';

export type { Logger } from 'pino';

/** The parts of an error that may be logged: PostgreSQL's `detail` and the like can quote stored values. */
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

/** Characters of a request's path in a log line. A client may send 15 KB. */
const maxPathLength = 200;

/**
 * JSON lines on stderr (stdout belongs to the ready line). By rule no API key, full address or
 * destination is ever handed to it; the redaction is the net below that rule.
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
          'key',
          'password',
          'passwordHash',
          'url',
          'address',
          '*.key',
          '*.password',
          '*.passwordHash',
          '*.url',
          '*.address',
        ],
        remove: true,
      },
    },
    destination({ fd: 2, sync: false }),
  );

/**
 * For events that may come thousands of times a second: of those in `everyMs`, the first `lines` are
 * logged and the others counted. The function takes the time, in milliseconds, and gives how many events
 * were left out since the last line; `null` leaves this one out.
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
