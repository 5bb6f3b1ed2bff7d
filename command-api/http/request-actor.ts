/** What identifies a request in its events and log lines. */
export interface RequestCause {
  requestId: string;
  /** The trace context of the request's span; without tracing, of the request. */
  traceparent?: string | undefined;
  /** The name of the MCP client. */
  client?: string;
}

export const actorIn = ({ requestId, traceparent, client }: RequestCause, actor: string) => ({
  ...{ actor, requestId, traceparent, client },
});
