/** The tools of agents: calls of /v2, whose schemas and texts are those of the route table. */
import { z } from 'zod';
import { linkDomainQuery, shortCode, shortUrl } from '../../schemas/http/link-address.js';
import type { Destinations } from '../../schemas/http/link-fields.js';
import { methodOf, pathOf, type RouteMethod, type RouteRow } from '../../schemas/http/route.js';
import { v2Table, type V2Operation } from '../../schemas/http/routes.js';
import type { Scope } from '../../schemas/scopes.js';
import { idempotencyKey } from '../http/openapi/document.js';

/** The operation of each tool, in the order of `tools/list`. */
const operations = {
  create_link: 'shorten',
  find_links: 'listLinks',
  get_link: 'getLink',
  change_link: 'changeLink',
  delete_link: 'deleteLink',
  link_statistics: 'getStats',
  account_statistics: 'getAccountStats',
  qr_code: 'getQrCode',
  usage: 'getUsage',
  list_domains: 'getDomains',
} as const satisfies Readonly<Record<string, V2Operation>>;

/** The results of calls whose responses are no JSON. */
const ownResults: Readonly<Record<string, z.ZodType>> = {
  delete_link: z.object({ shortCode, status: z.literal('deleted') }),
  qr_code: z.object({ shortCode, shortUrl, mimeType: z.literal('image/png') }),
};

export type Arguments = Readonly<Record<string, unknown>>;

/** A request to /v2. */
export interface CallRequest {
  readonly method: RouteMethod;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Tool {
  readonly name: string;
  readonly scope: Scope | null;
  /** Its entry in `tools/list`. */
  readonly definition: ReturnType<typeof definitionOf>;
  readonly requestOf: (values: Arguments) => CallRequest;
}

const schemaOf = (schema: z.ZodType, io: 'input' | 'output') =>
  z.toJSONSchema(schema, {
    // Transformed texts have no schema, so their `meta` describes them.
    ...{ io, target: 'draft-2020-12', unrepresentable: 'any' },
    override: ({ jsonSchema }) => {
      // Keywords of OpenAPI, and of zod.
      delete jsonSchema['explode'];
      delete jsonSchema.readOnly;
      // Validators of other languages do not know all patterns of ECMAScript.
      delete jsonSchema.pattern;
      // A later release may add properties to results.
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    },
  });

/** The parameters of a query, with the types of their parsed values. */
const parametersOf = (query: z.ZodObject) => schemaOf(query, 'output').properties ?? {};

const isOfLink = (row: RouteRow): boolean => pathOf(row).includes(':shortCode');

/** The parameters in the query of a call. Agents get every QR code as PNG. */
const queryOf = (row: RouteRow): z.ZodObject => {
  const shape = { ...(isOfLink(row) && linkDomainQuery.shape), ...row.query?.shape };
  return z.object(Object.fromEntries(Object.entries(shape).filter(([name]) => name !== 'format')));
};

const inputOf = (row: RouteRow, destinations: Destinations) => {
  const body = typeof row.body === 'function' ? row.body(destinations) : row.body;
  const { properties = {}, required = [] } = schemaOf(body ?? z.object({}), 'input');
  const { schema, description } = idempotencyKey;
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object' as const,
    properties: {
      ...(isOfLink(row) && parametersOf(z.object({ shortCode }))),
      ...parametersOf(queryOf(row)),
      ...properties,
      ...(row.isIdempotent && { idempotencyKey: { ...schema, description } }),
    },
    required: [...(isOfLink(row) ? ['shortCode'] : []), ...required],
  };
};

const outputOf = (name: string, row: RouteRow) => {
  const [success] = Object.values(row.returns);
  const schema = ownResults[name] ?? success?.schema;
  if (!schema) throw new Error(`the tool ${name} has no schema of its result`);
  return { ...schemaOf(schema, 'output'), type: 'object' as const };
};

const definitionOf = (name: string, row: RouteRow, destinations: Destinations) => {
  const { summary, description = '' } = row;
  const method = methodOf(row);
  return {
    name,
    title: summary,
    description: `${summary}. ${description}`.trim(),
    inputSchema: inputOf(row, destinations),
    outputSchema: outputOf(name, row),
    annotations: {
      readOnlyHint: method === 'GET',
      destructiveHint: method === 'PATCH' || method === 'DELETE',
      idempotentHint: true,
      openWorldHint: false,
    },
  };
};

/** Numbers and booleans of arguments are texts in a request target; so are wrong values, which the API refuses. */
const textOf = (value: unknown): string =>
  typeof value === 'string' ? value.toWellFormed() : JSON.stringify(value);

const requestOf = (row: RouteRow): Tool['requestOf'] => {
  const method = methodOf(row);
  const path = `/v2${pathOf(row)}`;
  const names = new Set(Object.keys(queryOf(row).shape));
  const isInBody = (name: string): boolean =>
    !names.has(name) && name !== 'idempotencyKey' && !(isOfLink(row) && name === 'shortCode');
  return (values) => {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(values)) {
      if (value === null || !names.has(name)) continue;
      for (const item of [value].flat()) query.append(name, textOf(item));
    }
    const { shortCode: code = '', idempotencyKey: key = null } = values;
    const search = query.size > 0 ? `?${query.toString()}` : '';
    return {
      method,
      url: path.replace(':shortCode', () => encodeURIComponent(textOf(code))) + search,
      headers: {
        accept: '*/*',
        // PostgreSQL does not accept null characters, which no header can have.
        ...(row.isIdempotent &&
          key !== null &&
          key !== '' && { 'idempotency-key': textOf(key).replaceAll('\0', '\ufffd') }),
      },
      body: row.body
        ? JSON.stringify(
            Object.fromEntries(Object.entries(values).filter(([name]) => isInBody(name))),
          )
        : '',
    };
  };
};

/** Every tool by name. */
export const createTools = (destinations: Destinations): ReadonlyMap<string, Tool> =>
  new Map(
    Object.entries(operations).map(([name, operation]) => {
      const row: RouteRow = v2Table[operation];
      const definition = definitionOf(name, row, destinations);
      return [name, { name, scope: row.scope, definition, requestOf: requestOf(row) }];
    }),
  );
