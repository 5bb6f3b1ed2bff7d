/** What has happened since the process started; only ever rises. For metrics. */
export interface SpoolCounters {
  /** Visits made durable. */
  appended: number;
  /** Visits refused with `SpoolUnavailable`. */
  refused: number;
  /** Records handed to the log, adopted ones included. */
  shipped: number;
  /** Tries to hand over a batch that failed. */
  shipFailures: number;
  /** Folders of processes that are gone, taken over. */
  adopted: number;
  /** Segments whose rest could not be read and was put aside. */
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

/** The bytes that this edge's spools, its own and adopted ones, take on the disk. */
export interface DiskUsage {
  bytes: number;
}
