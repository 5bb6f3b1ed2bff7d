/** What GET /health/ready tells, on every listener. */
export interface HealthReport {
  readonly status: 'pass' | 'fail';
  readonly dependencies: Readonly<Record<string, 'up' | 'down'>>;
  readonly projections: readonly {
    readonly name: string;
    /** Records of the log that it has not folded yet; `null` while that cannot be told. */
    readonly lag: number | null;
    readonly deadLetters: number;
    readonly parked: number;
  }[];
  /** Visits that wait in the edge's spool. */
  readonly spool: { readonly events: number; readonly bytes: number } | null;
}

/** Looks at everything that the process needs; never rejects, and answers within 2 s. */
export type HealthCheck = () => Promise<HealthReport>;

export const healthStatus = ({ status }: HealthReport): number => (status === 'pass' ? 200 : 503);
