import type { LinklogEvent } from '../../../../schemas/events/catalogue.js';
import type { EventLog } from '../../../event-log/port.js';

/** The log as one process has it. */
export interface LogClient {
  readonly log: EventLog;
  /** Ends the process's readers as a kill would: nobody stops them, and they get nothing more. */
  crash(): Promise<void>;
}

/** One log, and what the conformance suite needs to do to it beside the port. */
export interface LogHarness {
  /** A client like that of one more process. */
  connect(): Promise<LogClient>;
  /**
   * Records events through the ledger's outbox, in one transaction that is still open until `hold`
   * resolves. Resolves when the log proper has them, or when they are rolled back.
   */
  decide(
    events: readonly LinklogEvent[],
    ending?: { readonly hold?: Promise<unknown>; readonly rollBack?: boolean },
  ): Promise<void>;
  /** Cuts every connection between the clients and the log, as a restart of its server does. */
  cutConnections(): Promise<void>;
  /** Ends all clients and removes the log. */
  close(): Promise<void>;
}
