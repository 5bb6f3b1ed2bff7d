/** What the API answers: the schemas' types, and those of sessions. */
import type { KeyWithUsageResponse } from '../../../../schemas/http/keys.js';
import type { PlanName } from '../../../../schemas/plans.js';

export type { BatchResponse, BatchResult } from '../../../../schemas/http/batch.js';
export type { LinkResponse } from '../../../../schemas/http/shorten.js';
export type { HistoryResponse, PlatformResponse } from '../../../../schemas/http/operators.js';
export type { UsageResponse } from '../../../../schemas/http/reports.js';

export type { HealthResponse } from '../../../../schemas/http/health.js';
export type {
  CreatedKeyResponse as CreatedKey,
  KeyWithUsageResponse as AnyKey,
} from '../../../../schemas/http/keys.js';

/** Whoever is signed in to the developers' console. */
export interface DeveloperSession {
  readonly account: string;
  readonly key: {
    readonly id: string;
    readonly name: string;
    readonly plan: PlanName;
  };
}

export interface OperatorSession {
  readonly actor: string;
}

export interface AnyKeyPage {
  readonly keys: readonly KeyWithUsageResponse[];
  readonly next: string | null;
}
