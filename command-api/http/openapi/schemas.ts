import { z } from 'zod';
import { batchRequest, batchResponse } from '../../../schemas/http/batch.js';
import { bulkRequest, bulkResponse } from '../../../schemas/http/bulk.js';
import {
  generalError,
  monthlyLimitError,
  planError,
  scopeError,
  unauthorizedError,
} from '../../../schemas/http/errors.js';
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
import { linkResponse, shortCode, shortenRequest } from '../../../schemas/http/shorten.js';
import { accountStatsResponse, statsResponse } from '../../../schemas/http/statistics.js';

/** A part of the document: an object that OpenAPI gives its meaning. */
export type SchemaPart = Readonly<Record<string, unknown>>;
export type JsonSchema = Readonly<Record<string, unknown>>;

const requests = {
  // What is our own host depends on where we run; the description says it in words.
  ShortenRequest: shortenRequest(() => false),
  BatchRequest: batchRequest,
  ChangeLinkRequest: changeLinkRequest(() => false),
  BulkRequest: bulkRequest,
  MakeKeyRequest: makeKeyRequest,
  ChangeKeyRequest: changeOwnKeyRequest,
  RotateKeyRequest: rotateKeyRequest,
};

const responses = {
  Link: linkResponse,
  BatchResponse: batchResponse,
  LinkDetails: linkDetails,
  ChangedLink: changedLink,
  BulkResponse: bulkResponse,
  Links: linkPage,
  LinkHistory: historyResponse,
  Stats: statsResponse,
  AccountStats: accountStatsResponse,
  Usage: usageResponse,
  ApiKey: ownKeyResponse,
  ApiKeys: ownKeyPageResponse,
  MadeApiKey: madeKeyResponse,
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

/** What zod adds for its own validation, and what readers would only stumble over. */
const plain = ({ jsonSchema }: { jsonSchema: Record<string, unknown> }): void => {
  // TypeScript's readonly; JSON Schema's would say that a client cannot send it.
  delete jsonSchema['readOnly'];
  if (jsonSchema['minimum'] === Number.MIN_SAFE_INTEGER) delete jsonSchema['minimum'];
  if (jsonSchema['maximum'] === Number.MAX_SAFE_INTEGER) delete jsonSchema['maximum'];
  // The leap years are in the format.
  if (jsonSchema['format'] === 'date') delete jsonSchema['pattern'];
  if (jsonSchema['format'] === 'date-time') {
    jsonSchema['pattern'] = String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`;
  }
};

const ownKeywords = new Set(['$schema', '$id']);

const withoutOwnKeywords = (schema: object): JsonSchema =>
  Object.fromEntries(Object.entries(schema).filter(([keyword]) => !ownKeywords.has(keyword)));

const toSchemas = (
  named: Readonly<Record<string, z.ZodType>>,
  io: 'input' | 'output',
): Record<string, JsonSchema> => {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { io, uri: pathOf, override: plain });
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, withoutOwnKeywords(schema)]),
  );
};

/**
 * The items of a batch are what POST /v2/shorten takes, but a wrong one is no wrong request: it has
 * an outcome of its own. So anything may stand there.
 */
const withItems = (batch: JsonSchema | undefined): JsonSchema => {
  const { urls } = batch?.['properties'] as { urls: object };
  const anything = { description: 'Anything else is an item that fails by itself.' };
  const items = { anyOf: [refTo('ShortenRequest'), anything] };
  return { ...batch, properties: { urls: { ...urls, items } } };
};

/** The document's `components.schemas`: bodies as they are sent, answers as they are received. */
export const componentSchemas = (): Record<SchemaName, JsonSchema> => {
  const sent = toSchemas(requests, 'input');
  return {
    ...sent,
    BatchRequest: withItems(sent['BatchRequest']),
    ...toSchemas(responses, 'output'),
  } as Record<SchemaName, JsonSchema>;
};

const toSchema = (schema: z.ZodType): JsonSchema =>
  // What a text is read as has no schema: its `meta` says what it is.
  withoutOwnKeywords(
    z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any', override: plain }),
  );

export const shortCodeSchema = toSchema(shortCode);

/** The parameters of a query, as what they are read as: their text is that of a number, say. */
export const parametersOf = (query: z.ZodObject): readonly JsonSchema[] =>
  Object.entries(query.shape).map(([name, field]) => {
    const { description, explode = false, ...schema } = toSchema(field as z.ZodType);
    return {
      name,
      in: 'query',
      ...(description !== undefined && { description }),
      // Unless the schema says otherwise, with commas between the values.
      ...(schema['type'] === 'array' && { style: 'form', explode }),
      schema,
    };
  });
