import type { HealthResponse } from '../../../schemas/http/health.js';

/** What GET /health/ready tells, on every listener. */
export type HealthReport = HealthResponse;

/** Looks at everything that the process needs; never rejects, and answers within 2 s. */
export type HealthCheck = () => Promise<HealthReport>;

export const healthStatus = ({ status }: HealthReport): number => (status === 'pass' ? 200 : 503);
