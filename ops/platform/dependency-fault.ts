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
