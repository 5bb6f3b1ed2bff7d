import type { LinklogEvent } from '../../../../schemas/events/catalogue.js';
import type { EventLog } from '../../../event-log/port.js';
import type { Logger } from '../../../platform/logging.js';

/** The log of one process. */
export interface LogClient {
  readonly log: EventLog;
  /** Ends the readers without a stop, like a kill of the process. */
  crash(): Promise<void>;
}

/** A log, with operations of the conformance suite that are not in the port. */
export interface LogHarness {
  /** A client like that of another process. */
  connect(logger?: Logger): Promise<LogClient>;
  /**
   * Records events through the outbox of the ledger, in a transaction that stays open until `hold` resolves. Resolves
   * when the log has the events, or after the rollback.
   */
  decide(
    events: readonly LinklogEvent[],
    ending?: { readonly hold?: Promise<unknown>; readonly rollBack?: boolean },
  ): Promise<void>;
  /** Notifies the readers of a group of moved checkpoints. */
  notifyMoved(group: string): Promise<void>;
  /** Cuts every connection between clients and log, like a restart of the server. */
  cutConnections(): Promise<void>;
  /** Closes all clients and deletes the log. */
  close(): Promise<void>;
}
