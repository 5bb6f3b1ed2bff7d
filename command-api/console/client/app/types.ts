/** The types of responses. */
import type { DomainResponse, OperatorsDomain } from '../../../../schemas/http/domains.js';
import type { DeliveriesResponse } from '../../../../schemas/http/webhooks.js';
import type { HistoryResponse as HistoryOfApi } from '../../../../schemas/http/history.js';
import type { LinkPage as LinkPageOfApi } from '../../../../schemas/http/links.js';
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
export type { LinkDetails } from '../../../../schemas/http/links.js';
export type { DomainResponse, OperatorsDomain } from '../../../../schemas/http/domains.js';
export type {
  AliasOverrideResponse as AliasOverride,
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
export type { ConsoleSession, OperatorSession } from '../../../../schemas/http/console.js';
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
/** `count`: the number of links of all pages; 1,000: at least as many. */
export type LinkPage = LinkPageOfApi & { readonly count?: number };

/** `actorNames`: the names of keys, by their ids. */
export type HistoryResponse = HistoryOfApi & {
  readonly actorNames?: Readonly<Record<string, string>>;
};

export type DeliveryPage = DeliveriesResponse;
export type Delivery = DeliveriesResponse['deliveries'][number];

export interface AnyKeyPage {
  readonly keys: readonly KeyWithUsageResponse[];
  readonly next: string | null;
}

/** GET /v2/tags */
export interface TagList {
  readonly tags: readonly {
    readonly tag: string;
    readonly links: number;
    readonly clicks: number;
  }[];
}

export interface DomainList {
  readonly domains: readonly DomainResponse[];
}

export interface DomainPage {
  readonly domains: readonly OperatorsDomain[];
  readonly next: string | null;
}
