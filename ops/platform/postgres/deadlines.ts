/** How long a kind of work may wait for PostgreSQL, in milliseconds; `null`: as long as it takes. */
export interface Deadlines {
  /** For a connection: a free one of the pool, or a new one. */
  readonly connect: number;
  /** PostgreSQL itself ends a statement after so long … */
  readonly statement: number | null;
  /** … and a wait for a lock, … */
  readonly lock: number | null;
  /** … and a transaction whose client is silent: a frozen process gives its locks free. */
  readonly idleInTransaction: number;
}

/** A server that does not even end a statement in time is given up by the client so much later. */
export const answerGraceMs = 100;

export const deadlines = {
  /** A request waits for it, and its 503 is due within 2 s. */
  request: { connect: 1_000, statement: 1_500, lock: 1_000, idleInTransaction: 2_500 },
  /** What is shipped and relayed to the log: it holds the locks that requests wait for. */
  log: { connect: 2_000, statement: 15_000, lock: 5_000, idleInTransaction: 2_500 },
  /**
   * What nobody waits for, and is tried again: projections, seals, archive. Between two statements a projection folds up
   * to 100,000 visits, which takes seconds on a slow core.
   */
  background: { connect: 2_000, statement: 15_000, lock: 15_000, idleInTransaction: 10_000 },
  /** Migrations, rebuilds, commands. */
  patient: { connect: 60_000, statement: null, lock: null, idleInTransaction: 30_000 },
} as const satisfies Record<string, Deadlines>;

export type DeadlineName = keyof typeof deadlines;
