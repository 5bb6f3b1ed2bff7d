import { ConfigError } from '../../platform/errors.js';

/**
 * A server that we start, such as the embedded PostgreSQL, cannot run on this system, and a retry does not help. The
 * message is one line with a remedy.
 */
export class ServerUnavailable extends ConfigError {
  override readonly name = 'ServerUnavailable';
  override readonly code = 'SERVER_UNAVAILABLE';
}

/** A server failed to start or died. The message ends with the last lines of its output. */
export class ServerFailed extends Error {
  override readonly name = 'ServerFailed';
  readonly code = 'SERVER_FAILED';
  readonly output: string;
  readonly retryable: boolean;
  /** `null` if the server has not exited, or was killed by a signal. */
  readonly exitCode: number | null;

  constructor(
    message: string,
    details: Partial<Pick<ServerFailed, 'output' | 'retryable' | 'exitCode'>> = {},
  ) {
    const { output = '', retryable = false, exitCode = null } = details;
    super(output === '' ? message : `${message}:\n${output}`);
    this.output = output;
    this.retryable = retryable;
    this.exitCode = exitCode;
  }
}
