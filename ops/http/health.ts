import type { HealthResponse } from '../../schemas/http/health.js';

/** The body of GET /health/ready, on every listener. */
export type HealthReport = HealthResponse;

/** Checks the dependencies of the process. Never rejects, and resolves within 2 s. */
export type HealthCheck = () => Promise<HealthReport>;

export const healthStatus = ({ status }: HealthReport): number => (status === 'pass' ? 200 : 503);
