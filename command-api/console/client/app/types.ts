/** The types of responses. */
import type { DomainResponse, OperatorsDomain } from '../../../../schemas/http/domains.js';
import type { DeliveriesResponse } from '../../../../schemas/http/webhooks.js';
import type { KeyWithUsageResponse } from '../../../../schemas/http/keys.js';

export type { BatchResponse, BatchResult } from '../../../../schemas/http/batch.js';
export type { BulkResponse } from '../../../../schemas/http/bulk.js';
export type {
  ConflictPolicy,
  ImportFormat,
  ImportListResponse as ImportList,
  ImportResponse as Import,
  ImportSource,
  ImportStatus,
  ImportedRow,
  RowOutcome,
} from '../../../../schemas/http/imports.js';
export type { LinkResponse } from '../../../../schemas/http/shorten.js';
export type { LinkDetails, LinkPage } from '../../../../schemas/http/links.js';
export type { HistoryResponse } from '../../../../schemas/http/history.js';
export type { TagPage } from '../../../../schemas/http/tags.js';
export type { DomainResponse, OperatorsDomain } from '../../../../schemas/http/domains.js';
export type {
  AliasOverrideResponse as AliasOverride,
  ChangePage,
  OverridePage,
  ProcessList,
  OperatorsLink,
  OperatorsLinkPage,
  PlatformResponse,
} from '../../../../schemas/http/operators.js';
export type { UsageResponse } from '../../../../schemas/http/reports.js';
export type { Dimension } from '../../../../schemas/statistics/document.js';
export type { AccountStatsResponse, PeriodStats } from '../../../../schemas/http/statistics.js';

export type {
  ProjectionsResponse,
  ProjectionWorkResponse,
} from '../../../../schemas/http/projections.js';
export type {
  ConsoleChanges,
  ConsoleSession,
  OperatorSession,
  SessionList,
} from '../../../../schemas/http/console.js';
export type { HealthResponse } from '../../../../schemas/http/health.js';
export type {
  CreatedKeyResponse as CreatedKey,
  KeyWithUsageResponse as AnyKey,
  OwnKeyResponse as OwnKey,
} from '../../../../schemas/http/keys.js';

export type {
  TestedWebhookResponse as TestedWebhook,
  WebhookResponse as Webhook,
  WebhookWithSecretResponse as WebhookWithSecret,
} from '../../../../schemas/http/webhooks.js';
export type DeliveryPage = DeliveriesResponse;
export type Delivery = DeliveriesResponse['deliveries'][number];

export interface AnyKeyPage {
  readonly keys: readonly KeyWithUsageResponse[];
  readonly next: string | null;
}

export interface DomainList {
  readonly domains: readonly DomainResponse[];
}

export interface DomainPage {
  readonly domains: readonly OperatorsDomain[];
  readonly next: string | null;
}
