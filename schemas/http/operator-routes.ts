/** The table of operators' calls, under /admin. */
import { z } from 'zod';
import { responseParts } from '../components.js';
import { abuseRoutes } from './abuse.js';
import { consoleAddressRequest, consoleAddressResponse } from './console.js';
import { operatorsDomainRoutes } from './domains.js';
import { eventsResponse, operatorsEventsQuery } from './events.js';
import { exportedLink, operatorsExportQuery } from './export.js';
import { historyQuery, historyResponse } from './history.js';
import { operatorsImportRoutes } from './imports.js';
import {
  changeKeyRequest,
  createdKeyResponse,
  createKeyRequest,
  keyPageQuery,
  keyPageResponse,
  keyResponse,
  keyWithUsageResponse,
} from './keys.js';
import { changeLinkRequest } from './links.js';
import {
  blockRequest,
  blockResponse,
  createdOperatorsLink,
  listAllLinksQuery,
  operatorsLink,
  operatorsLinkPage,
  operatorsLinkRequest,
  platformRoutes,
} from './operators.js';
import { operatorsPeopleRoutes } from './people.js';
import { projectionRoutes } from './projections.js';
import { doctorRoutes } from './doctor.js';
import { call, changed, done, found, type OperatorRows, returning } from './route.js';
import { operatorsShareRoutes } from './shares.js';
import { asCsv, statsQuery, statsResponse } from './statistics.js';
import {
  operatorsWebhookListResponse,
  operatorsWebhooksQuery,
  replayRequest,
  testedWebhookResponse,
} from './webhooks.js';

const ifMatch = { 'If-Match': 'The required `ETag` of the link, a list of such, or `*`.' };

export const operatorTable = {
  ...operatorsDomainRoutes,
  ...platformRoutes,
  ...operatorsImportRoutes,
  ...projectionRoutes,
  ...doctorRoutes,
  ...abuseRoutes,
  ...operatorsShareRoutes,
  ...operatorsPeopleRoutes,
  createKey: call('POST /keys', 'Create a key, whose secret is shown once', {
    body: createKeyRequest,
    returns: changed(createdKeyResponse, 201),
  }),
  listKeys: call('GET /keys', 'List all keys with their usage', {
    query: keyPageQuery,
    returns: found(keyPageResponse),
  }),
  getKey: call('GET /keys/:id', 'Get a key with its usage', {
    returns: found(keyWithUsageResponse),
  }),
  changeKey: call('PATCH /keys/:id', 'Change a key', {
    body: changeKeyRequest,
    errors: [409],
    returns: changed(keyResponse),
  }),
  revokeKey: call('DELETE /keys/:id', 'Revoke a key permanently', {
    errors: [409],
    returns: changed(keyResponse),
  }),
  createConsoleAddress: call('POST /console', 'Create a one-time address of the console', {
    body: consoleAddressRequest,
    errors: [404],
    returns: returning(consoleAddressResponse, 201),
  }),
  blockLink: call('POST /links/:shortCode/block', 'Block a link', {
    body: blockRequest,
    returns: changed(blockResponse),
  }),
  unblockLink: call('POST /links/:shortCode/unblock', 'End the block of a link', {
    body: blockRequest,
    returns: changed(blockResponse),
  }),
  getLinkHistory: call(
    'GET /links/:shortCode/history',
    'Get the history of a link, without visits',
    { query: historyQuery, returns: found(historyResponse) },
  ),
  listLinks: call('GET /links', 'List the links of one account or of all accounts', {
    query: listAllLinksQuery,
    returns: found(operatorsLinkPage),
  }),
  exportLinks: call('GET /export', 'Export the links of an account as a file', {
    query: operatorsExportQuery,
    returns: {
      200: {
        schema: null,
        files: { 'application/x-ndjson': { item: exportedLink }, 'text/csv': {} },
      },
    },
  }),
  getLink: call('GET /links/:shortCode', 'Get a link', { returns: found(operatorsLink) }),
  changeLink: call('PATCH /links/:shortCode', 'Change a link', {
    headers: ifMatch,
    body: changeLinkRequest,
    errors: [410, 412],
    returns: changed(operatorsLink),
  }),
  deleteLink: call('DELETE /links/:shortCode', 'Delete a link', {
    headers: ifMatch,
    errors: [412],
    returns: changed(operatorsLink),
  }),
  restoreLink: call('POST /links/:shortCode/restore', 'Restore a deleted link', {
    errors: [400, 410],
    returns: changed(operatorsLink),
  }),
  createLink: call('POST /links', 'Create a link of any account, without quotas', {
    body: operatorsLinkRequest,
    returns: changed(createdOperatorsLink, 201),
  }),
  getEvents: call('GET /events', 'Read the events of an account', {
    query: operatorsEventsQuery,
    headers: { 'Last-Event-ID': 'Of a stream that reconnects: a cursor.' },
    errors: [409],
    returns: found(eventsResponse),
  }),
  listWebhooks: call('GET /webhooks', 'List the webhooks of one account or of all accounts', {
    query: operatorsWebhooksQuery,
    returns: found(operatorsWebhookListResponse),
  }),
  testWebhook: call('POST /webhooks/:id/test', 'Deliver a test event now', {
    returns: found(testedWebhookResponse),
  }),
  replayWebhook: call('POST /webhooks/:id/replay', 'Deliver again from a point of the log', {
    body: replayRequest,
    errors: [409],
    returns: { 202: done('The cursor is moved.') },
  }),
  getStats: call('GET /stats/:shortCode', 'Get the clicks of a link', {
    description: asCsv,
    query: statsQuery,
    returns: {
      200: { schema: statsResponse, headers: ['Vary'] },
    },
  }),
  getOpenApi: call('GET /openapi.json', "Get the OpenAPI document of operators' calls", {
    returns: found(
      z.looseObject({ openapi: z.string() }).register(responseParts, { id: 'OpenApiDocument' }),
    ),
  }),
} satisfies OperatorRows;

type OperatorTable = typeof operatorTable;
export type OperatorOperation = keyof OperatorTable;

/** The JSON of a success. */
export type Returned<Operation extends OperatorOperation> =
  OperatorTable[Operation]['returns'] extends Readonly<
    Record<number, { readonly schema: infer Schema extends z.ZodType }>
  >
    ? z.output<Schema>
    : undefined;
