import { z } from 'zod';
import { batchRequest, batchResponse } from '../../../schemas/http/batch.js';
import { bulkRequest, bulkResponse } from '../../../schemas/http/bulk.js';
import {
  changeDomainRequest,
  claimDomainRequest,
  domainListResponse,
  domainResponse,
} from '../../../schemas/http/domains.js';
import {
  generalError,
  monthlyLimitError,
  planError,
  scopeError,
  unauthorizedError,
} from '../../../schemas/http/errors.js';
import { exportedLink } from '../../../schemas/http/export.js';
import { importedRow, importListResponse, importResponse } from '../../../schemas/http/imports.js';
import { healthResponse, livenessResponse } from '../../../schemas/http/health.js';
import { historyResponse } from '../../../schemas/http/history.js';
import {
  changedLink,
  changeLinkRequest,
  linkDetails,
  linkPage,
} from '../../../schemas/http/links.js';
import { usageResponse } from '../../../schemas/http/reports.js';
import {
  changeOwnKeyRequest,
  madeKeyResponse,
  makeKeyRequest,
  ownKeyPageResponse,
  ownKeyResponse,
  rotateKeyRequest,
} from '../../../schemas/http/keys.js';
import { eventsResponse } from '../../../schemas/http/events.js';
import {
  changeWebhookRequest,
  createWebhookRequest,
  deliveriesResponse,
  replayRequest,
  testedWebhookResponse,
  webhookListResponse,
  webhookResponse,
  webhookWithSecretResponse,
} from '../../../schemas/http/webhooks.js';
import { tagPage } from '../../../schemas/http/tags.js';
import { shortCode } from '../../../schemas/http/link-address.js';
import { linkResponse, shortenRequest } from '../../../schemas/http/shorten.js';
import { accountStatsResponse, statsResponse } from '../../../schemas/http/statistics.js';

/** An object of the document. */
export type SchemaPart = Readonly<Record<string, unknown>>;
export type JsonSchema = Readonly<Record<string, unknown>>;

const requests = {
  // Own hosts depend on the installation.
  ShortenRequest: shortenRequest(() => false),
  BatchRequest: batchRequest,
  ChangeLinkRequest: changeLinkRequest(() => false),
  BulkRequest: bulkRequest,
  MakeKeyRequest: makeKeyRequest,
  ChangeKeyRequest: changeOwnKeyRequest,
  RotateKeyRequest: rotateKeyRequest,
  ClaimDomainRequest: claimDomainRequest,
  ChangeDomainRequest: changeDomainRequest(() => false),
  CreateWebhookRequest: createWebhookRequest,
  ChangeWebhookRequest: changeWebhookRequest,
  ReplayRequest: replayRequest,
};

const responses = {
  Link: linkResponse,
  BatchResponse: batchResponse,
  LinkDetails: linkDetails,
  ChangedLink: changedLink,
  BulkResponse: bulkResponse,
  Links: linkPage,
  Tags: tagPage,
  ExportedLink: exportedLink,
  Import: importResponse,
  Imports: importListResponse,
  ImportedRow: importedRow,
  LinkHistory: historyResponse,
  Stats: statsResponse,
  AccountStats: accountStatsResponse,
  Usage: usageResponse,
  ApiKey: ownKeyResponse,
  ApiKeys: ownKeyPageResponse,
  MadeApiKey: madeKeyResponse,
  Domain: domainResponse,
  Domains: domainListResponse,
  Events: eventsResponse,
  Webhook: webhookResponse,
  Webhooks: webhookListResponse,
  WebhookWithSecret: webhookWithSecretResponse,
  TestedWebhook: testedWebhookResponse,
  Deliveries: deliveriesResponse,
  Liveness: livenessResponse,
  Readiness: healthResponse,
  GeneralError: generalError,
  UnauthorizedError: unauthorizedError,
  PlanError: planError,
  ScopeError: scopeError,
  MonthlyLimitError: monthlyLimitError,
};

export type SchemaName = keyof typeof requests | keyof typeof responses;

const pathOf = (name: string): string => `#/components/schemas/${name}`;

export const refTo = (name: SchemaName): JsonSchema => ({ $ref: pathOf(name) });

/** Removes keywords that only matter to zod. */
const plain = ({ jsonSchema }: { jsonSchema: Record<string, unknown> }): void => {
  // In JSON Schema, `readOnly` means that clients cannot send the field.
  delete jsonSchema['readOnly'];
  if (jsonSchema['secret'] === true) {
    delete jsonSchema['secret'];
    jsonSchema['x-secret'] = true;
  }
  if (jsonSchema['minimum'] === Number.MIN_SAFE_INTEGER) delete jsonSchema['minimum'];
  if (jsonSchema['maximum'] === Number.MAX_SAFE_INTEGER) delete jsonSchema['maximum'];
  // The format is sufficient; the pattern contains the leap years.
  if (jsonSchema['format'] === 'date') delete jsonSchema['pattern'];
  if (jsonSchema['format'] === 'date-time') {
    jsonSchema['pattern'] = String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`;
  }
};

const ownKeywords = new Set(['$schema', '$id']);

const withoutOwnKeywords = (schema: object): JsonSchema =>
  Object.fromEntries(Object.entries(schema).filter(([keyword]) => !ownKeywords.has(keyword)));

/** The schemas of a document's components, which reference each other. @param target AsyncAPI has draft 7 */
export const toSchemas = (
  named: Readonly<Record<string, z.ZodType>>,
  io: 'input' | 'output',
  target: 'draft-07' | 'draft-2020-12' = 'draft-2020-12',
): Record<string, JsonSchema> => {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { io, target, uri: pathOf, override: plain });
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, withoutOwnKeywords(schema)]),
  );
};

/**
 * The items of a batch are bodies of POST /v2/shorten. An invalid item fails separately, so every value is allowed.
 */
const withItems = (batch: JsonSchema | undefined): JsonSchema => {
  const { urls } = batch?.['properties'] as { urls: object };
  const anything = { description: 'Any other value is an item that fails.' };
  const items = { anyOf: [refTo('ShortenRequest'), anything] };
  return { ...batch, properties: { urls: { ...urls, items } } };
};

/** The document's `components.schemas`: input types of requests, output types of responses. */
export const componentSchemas = (): Record<SchemaName, JsonSchema> => {
  const sent = toSchemas(requests, 'input');
  return {
    ...sent,
    BatchRequest: withItems(sent['BatchRequest']),
    ...toSchemas(responses, 'output'),
  } as Record<SchemaName, JsonSchema>;
};

const toSchema = (schema: z.ZodType): JsonSchema =>
  // Transformed texts have no schema, so their `meta` describes them.
  withoutOwnKeywords(
    z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any', override: plain }),
  );

export const shortCodeSchema = toSchema(shortCode);

/** The parameters of a query, with the types of their parsed values. */
export const parametersOf = (query: z.ZodObject): readonly JsonSchema[] =>
  Object.entries(query.shape).map(([name, field]) => {
    const { description, explode = false, ...schema } = toSchema(field as z.ZodType);
    return {
      name,
      in: 'query',
      ...(description !== undefined && { description }),
      // Comma-separated by default.
      ...(schema['type'] === 'array' && { style: 'form', explode }),
      schema,
    };
  });
