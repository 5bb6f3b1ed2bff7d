/** Whether an error, such as of a system call, has one of the codes. */
export const hasCode = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof Error && 'code' in error && codes.includes(String(error.code));

/** Awaits a promise; `null` if it rejects with one of the codes. */
export const nullOn = async <Value>(
  value: Promise<Value>,
  ...codes: readonly string[]
): Promise<Value | null> => {
  try {
    return await value;
  } catch (error) {
    if (hasCode(error, ...codes)) return null;
    throw error;
  }
};

/** Calls a function; `null` if it throws an error with one of the codes. */
export const nullOnThrow = <Value>(get: () => Value, ...codes: readonly string[]): Value | null => {
  try {
    return get();
  } catch (error) {
    if (hasCode(error, ...codes)) return null;
    throw error;
  }
};

/** Returns the message of an error in one line. The AggregateError of a refused connection to `localhost` has none. */
export const messageOf = (error: unknown): string => {
  if (error instanceof AggregateError) return messageOf(error.errors[0]);
  const text = error instanceof Error ? error.message : String(error);
  const lines = text.split('\n').map((line) => line.trim());
  return lines.filter(Boolean).join(' ');
};

/**
 * A dependency is reachable but in the wrong state. Health reports show the message to every client, so it contains no
 * address, account or payload.
 */
export class DependencyFault extends Error {
  constructor(
    /** A SQLSTATE, or a name such as `TOPIC_MISSING`. */
    readonly code: string,
    message: string,
    /** `degraded`: everything is served, and readiness reports the fault without failing. */
    readonly severity: 'down' | 'degraded' = 'down',
  ) {
    super(message);
  }
}

/** The configuration is invalid: one line that names the variable. The process exits with `configExitCode`. */
export class ConfigError extends Error {
  readonly code: string = 'CONFIG';
}

/** EX_CONFIG of sysexits.h. */
export const configExitCode = 78;
