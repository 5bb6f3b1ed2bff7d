import { destination, pino, type Logger } from 'pino';

export type { Logger } from 'pino';

/**
 * Selects the fields of an error to log, without PostgreSQL's `detail` and others that may quote stored values. Only the
 * outermost error has its stack.
 */
const describeError = (error: unknown, isCause = false): unknown => {
  if (!(error instanceof Error)) return String(error);
  const { name, message, stack, cause } = error;
  const code = (error as { code?: unknown }).code;
  return {
    type: name,
    message,
    ...(code !== undefined && { code }),
    ...(!isCause && { stack }),
    ...(cause !== undefined && { cause: describeError(cause, true) }),
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

/** Interval of the lines about an outage, and the time after which a part without failures has recovered (ms). */
const outageLineMs = 60_000;

/**
 * Logs an outage of parts that are retried: a line with the stack at the first failure, one without a stack in each minute
 * with failures, and `end` (a line, or a function) when the last part has recovered.
 */
export const createOutageLog = (
  logger: Logger,
  message: string,
  end?: string | ((outage: { readonly seconds: number; readonly failures: number }) => unknown),
) => {
  /** When each part failed last. */
  const failedAt = new Map<string, number>();
  let [beganAt, loggedAt, failures] = [0, 0, 0];
  const outageAt = (now: number) => {
    for (const [part, at] of failedAt) if (now - at > outageLineMs) failedAt.delete(part);
    return { seconds: Math.round((now - beganAt) / 1_000), failures };
  };
  return {
    isOngoing: (): boolean => failedAt.size > 0,
    failed: (err: unknown, part = ''): void => {
      const now = performance.now();
      failures += 1;
      const outage = outageAt(now);
      const isFirst = failedAt.size === 0;
      if (isFirst) [beganAt, loggedAt, failures] = [now, -Infinity, 1];
      failedAt.set(part, now);
      if (now - loggedAt < outageLineMs) return;
      loggedAt = now;
      const failure = isFirst ? { err } : { failure: describeError(err, true), ...outage };
      logger.warn({ ...(part !== '' && { part }), ...failure }, message);
    },
    recovered: (part = ''): void => {
      if (failedAt.size === 0) return;
      failedAt.delete(part);
      const outage = outageAt(performance.now());
      if (failedAt.size > 0) return;
      if (typeof end === 'string') logger.info(outage, end);
      else end?.(outage);
    },
  };
};

export type OutageLog = ReturnType<typeof createOutageLog>;

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
