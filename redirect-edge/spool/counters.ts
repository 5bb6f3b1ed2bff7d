import type { Logger } from 'pino';

/** What has happened since the process started; only ever rises. For metrics. */
export const newCounters = () => ({
  /** Visits made durable. */
  appended: 0,
  /** Visits refused with `SpoolUnavailable`. */
  refused: 0,
  /** Records handed to the log, adopted ones included. */
  shipped: 0,
  /** Failed tries to hand over a batch. */
  shipFailures: 0,
  /** Folders of ended processes, taken over. */
  adopted: 0,
  /** Segments with an unreadable rest, which was put aside. */
  damaged: 0,
});

export type SpoolCounters = ReturnType<typeof newCounters>;

/** What the parts of an edge's spool share. */
export interface SpoolContext {
  readonly counters: SpoolCounters;
  /** The bytes that this edge's spools, its own and adopted ones, take on the disk. */
  readonly usage: { bytes: number };
  readonly logger: Logger;
}
