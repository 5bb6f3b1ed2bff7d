/**
 * A dependency answers, but is not in the state that this process needs. Health reports show the message to
 * every client, so it contains no address, account or payload.
 */
export class DependencyFault extends Error {
  constructor(
    /** A SQLSTATE, or a name such as `TOPIC_MISSING`. */
    readonly code: string,
    message: string,
    /** `degraded`: everything is served; readiness reports the fault and does not fail. */
    readonly severity: 'down' | 'degraded' = 'down',
  ) {
    super(message);
  }
}
