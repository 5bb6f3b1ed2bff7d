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
      serializers: { err: describeError },
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
