import type { HealthResponse } from '../../schemas/http/health.js';

/** The answer of GET /health/ready, on every listener. */
export type HealthReport = HealthResponse;

/** Checks everything that the process needs; never rejects, and answers within 2 s. */
export type HealthCheck = () => Promise<HealthReport>;

export const healthStatus = ({ status }: HealthReport): number => (status === 'pass' ? 200 : 503);
