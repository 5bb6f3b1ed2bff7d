/**
 * Why a visit could not be made durable:
 *
 * - `SPOOL_FULL`: the spools of this edge have reached their cap, so the log has been away for long.
 * - `SPOOL_WRITE_FAILED`: the file system refused (no space, I/O error); see `cause`.
 * - `SPOOL_STOPPED`: this edge is shutting down.
 */
export type SpoolUnavailableCode = 'SPOOL_FULL' | 'SPOOL_WRITE_FAILED' | 'SPOOL_STOPPED';

/** The visit is not kept, so it must not be redirected; another try, maybe elsewhere, can succeed. */
export class SpoolUnavailable extends Error {
  readonly retryable = true;

  constructor(
    readonly code: SpoolUnavailableCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The `code` of a Node or Linklog error, if it has one. */
export const errorCode = (error: unknown): string | undefined => {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
};
