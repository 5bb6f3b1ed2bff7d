import { ConfigError } from '../../platform/config/config.js';

/**
 * A server that we start, such as the embedded PostgreSQL, cannot run here, and a retry does not help.
 * The message is one line for the person who started us; it says what to do instead.
 */
export class ServerUnavailable extends ConfigError {
  override readonly name = 'ServerUnavailable';
  override readonly code = 'SERVER_UNAVAILABLE';
}

/** It should run here and did not; the message ends with the last lines of its own output. */
export class ServerFailed extends Error {
  override readonly name = 'ServerFailed';
  readonly code = 'SERVER_FAILED';
  readonly retryable: boolean;

  constructor(message: string, options: { output?: string; retryable?: boolean; cause?: unknown }) {
    const { output = '', retryable = false, cause } = options;
    super(output === '' ? message : `${message}:\n${output}`, { cause });
    this.retryable = retryable;
  }
}

/** How such a message ends where nothing better is known. */
export const setDatabaseUrl = 'set DATABASE_URL to a PostgreSQL of your own';
