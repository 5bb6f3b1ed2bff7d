import type { Logger } from 'pino';

/** What has happened since the process started; only ever rises. For metrics. */
export interface SpoolCounters {
  /** Visits made durable. */
  appended: number;
  /** Visits refused with `SpoolUnavailable`. */
  refused: number;
  /** Records handed to the log, adopted ones included. */
  shipped: number;
  /** Failed tries to hand over a batch. */
  shipFailures: number;
  /** Folders of ended processes, taken over. */
  adopted: number;
  /** Segments with an unreadable rest, which was put aside. */
  damaged: number;
}

export const newCounters = (): SpoolCounters => ({
  appended: 0,
  refused: 0,
  shipped: 0,
  shipFailures: 0,
  adopted: 0,
  damaged: 0,
});

/** What the parts of an edge's spool share. */
export interface SpoolContext {
  readonly counters: SpoolCounters;
  /** The bytes that this edge's spools, its own and adopted ones, take on the disk. */
  readonly usage: { bytes: number };
  readonly logger: Logger;
}
