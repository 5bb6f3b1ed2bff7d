/** Deadlines of a kind of work (ms); `null` if there is none. */
export interface Deadlines {
  /** The wait for a connection of the pool, idle or new. */
  readonly connect: number;
  /** `statement_timeout` */
  readonly statement: number | null;
  /** `lock_timeout` */
  readonly lock: number | null;
  /** `idle_in_transaction_session_timeout`, which releases the locks of a suspended process. */
  readonly idleInTransaction: number;
}

/** How long after `statement` the client stops waiting for the response (ms). */
export const responseGraceMs = 100;

export const deadlines = {
  /** Requests, whose 503 is due within 2 s. */
  request: { connect: 1_000, statement: 1_500, lock: 1_000, idleInTransaction: 2_500 },
  /** Appends to the log, which hold locks that requests wait for. */
  log: { connect: 2_000, statement: 15_000, lock: 5_000, idleInTransaction: 2_500 },
  /**
   * Background work that is retried: projections, seals, archive. Between two statements, a projection folds up to
   * 100,000 visits, which takes seconds on a slow core.
   */
  background: { connect: 2_000, statement: 15_000, lock: 15_000, idleInTransaction: 10_000 },
  /**
   * Exports, which wait for their client between two statements. `command-api/links/export/exports.ts` ends them after
   * 30 minutes.
   */
  export: { connect: 1_000, statement: 15_000, lock: 1_000, idleInTransaction: 35 * 60_000 },
  /** Migrations, rebuilds and commands. */
  patient: { connect: 60_000, statement: null, lock: null, idleInTransaction: 30_000 },
} as const satisfies Record<string, Deadlines>;

export type DeadlineName = keyof typeof deadlines;
