/** The OpenAPI document, derived from the route table and its schemas. */
import {
  destinationPattern,
  patternWith,
  webDestinations,
  type Destinations,
} from '../../../schemas/http/link-fields.js';
import { z } from 'zod';
import { packageVersion } from '../../../ops/platform/files/project-file.js';
import { anyError, messages } from '../../../schemas/http/errors.js';
import { healthResponse, livenessResponse } from '../../../schemas/http/health.js';
import { linkDomainQuery, shortCode } from '../../../schemas/http/link-address.js';
import { operatorTable } from '../../../schemas/http/operator-routes.js';
import {
  methodOf,
  pathOf,
  type OperatorRows,
  type RouteRow,
  type RouteTable,
} from '../../../schemas/http/route.js';
import { v2Table } from '../../../schemas/http/routes.js';
import { componentResponses, errorsOf, general, operatorsResponses } from './errors.js';
import {
  bytes,
  componentHeaders,
  everyResponse,
  everyResponseToKey,
  headersOf,
  jsonContent,
  successOf,
} from './responses.js';
import { componentSchemas, parameterOf, parametersOf, type SchemaPart } from './schemas.js';

const description = `Create short links, and read their statistics:

    curl http://localhost:8080/v2/shorten -H 'Authorization: Bearer <key>' \\
      -H 'Content-Type: application/json' -d '{"url": "https://example.com/a?b=c"}'

Every request under \`/v2\` needs an API key. Each key has a limit per minute and monthly quotas, by
its plan; the remaining amounts are in headers and in \`GET /v2/usage\`. A key also has scopes: an operation
names the scope that it requires as its security requirement. A request may have an \`X-Request-Id\` of 1 to
128 visible characters, which the response repeats; by default it is generated. An unknown path is 404,
another method 405. \`HEAD\` works wherever \`GET\` does; a body on either is not read. Bodies and query
parameters are UTF-8; titles, notes, tags and names of keys are stored trimmed and in NFC.`;

/** The responses of a health check, which needs no key. */
const health = (
  statuses: Readonly<Record<number, string>>,
  schema: z.ZodType,
  example: object,
): SchemaPart => ({
  ...Object.fromEntries(
    Object.entries(statuses).map(([status, description]) => [
      status,
      { description, headers: headersOf(everyResponse), content: jsonContent(schema, { example }) },
    ]),
  ),
  405: {
    description: 'The method is not `GET` or `HEAD`.',
    headers: headersOf(['X-Request-Id', 'Allow']),
    content: jsonContent(anyError, {
      method: general(405, messages.methodNotAllowed, ['POST', '/health']),
    }),
  },
});

const healthPaths = {
  '/health': {
    get: {
      operationId: 'getLiveness',
      tags: ['Health'],
      summary: 'Check liveness',
      description: 'Needs no key, and queries no dependency.',
      security: [],
      responses: health({ 200: 'The process is alive.' }, livenessResponse, { status: 'pass' }),
    },
  },
  '/health/ready': {
    get: {
      operationId: 'getReadiness',
      tags: ['Health'],
      summary: 'Check readiness',
      description:
        'Needs no key. Reports the dependencies, the projections, the spool of visits and maintenance.',
      security: [],
      responses: health({ 200: 'Ready.', 503: 'A dependency is unavailable.' }, healthResponse, {
        status: 'pass',
        dependencies: {
          postgres: { state: 'up' },
          log: { state: 'up' },
          projections: { state: 'up' },
        },
        projections: [{ name: 'redirects', lag: 0, deadLetters: 0, parked: 0 }],
        missingEvents: [],
        spool: {
          events: 0,
          bytes: 0,
          leftOver: { spools: 0, bytes: 0 },
          setAside: { files: 0, bytes: 0 },
        },
        maintenance: null,
        compaction: { waiting: 0 },
      }),
    },
  },
};

export const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'For 24 hours, the same key, path and body get the first successful response again; failures ' +
    'are not stored. Empty: absent.',
  schema: { type: 'string', maxLength: 255 },
};

/** The parameters of the path, and of the domain of its link. */
const pathParametersOf = ({ route, parameters = {} }: RouteRow): readonly SchemaPart[] => {
  const known: Readonly<Record<string, z.ZodType>> = { shortCode, ...parameters };
  const names = [...route.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  return [
    ...names.map((name) => ({
      ...parameterOf(name, 'path', known[name] ?? z.string()),
      required: true,
    })),
    ...(names.includes('shortCode') ? parametersOf(linkDomainQuery) : []),
  ];
};

const parametersIn = ({ query, headers = {}, isIdempotent }: RouteRow): readonly SchemaPart[] => [
  ...(isIdempotent ? [idempotencyKey] : []),
  ...(query ? parametersOf(query) : []),
  ...Object.entries(headers).map(([name, description]) => ({
    ...{ name, in: 'header', description, schema: { type: 'string' } },
  })),
];

const requestBodyOf = ({ body, examples, file }: RouteRow): SchemaPart | null => {
  if (file !== undefined) {
    const content = { 'application/octet-stream': { schema: bytes, example: file } };
    return { required: true, content };
  }
  if (!body) return null;
  const schema = typeof body === 'function' ? body(webDestinations) : body;
  return { required: true, content: jsonContent(schema, examples) };
};

const operationOf = (
  operationId: string,
  row: RouteRow,
  common: typeof everyResponse,
): SchemaPart => {
  const { tag, summary, description, scope } = row;
  const parameters = parametersIn(row);
  const requestBody = requestBodyOf(row);
  return {
    operationId,
    ...(scope !== null && { security: [{ apiKey: [scope] }] }),
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    ...(parameters.length > 0 && { parameters }),
    ...(requestBody && { requestBody }),
    responses: {
      ...Object.fromEntries(
        Object.keys(row.returns).map((status) => [status, successOf(row, status, common)]),
      ),
      ...errorsOf(row),
    },
  };
};

/** The operations of a table by path and method. @param common the headers of every response */
const pathsOf = (
  prefix: string,
  table: RouteTable,
  common: typeof everyResponse,
): Record<string, SchemaPart> => {
  const paths: Record<string, SchemaPart> = {};
  for (const [operationId, row] of Object.entries(table)) {
    const path = prefix + pathOf(row).replace(/:(\w+)/g, '{$1}');
    const parameters = pathParametersOf(row);
    paths[path] = {
      ...(parameters.length > 0 && { parameters }),
      ...paths[path],
      [methodOf(row).toLowerCase()]: operationOf(operationId, row, common),
    };
  }
  return paths;
};

const openApi = '3.1.1';

const info = {
  version: packageVersion(),
  // Each installation has its own.
  contact: { name: 'The operator of this installation' },
  license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
};

// Relative to the document, so it is correct behind every proxy.
const servers = [{ url: '/' }];

const bearer = (text: string) => ({ type: 'http', scheme: 'bearer', description: text });

/** Every operation of the API's listener. `HEAD` works wherever `GET` does. */
const paths = { ...pathsOf('/v2', v2Table, everyResponseToKey), ...healthPaths };

const tags = {
  Links: 'Create, find, change and delete short links; their tags, QR codes, history and export.',
  Imports: 'Take over links and visits from files of other services.',
  Reports: 'Clicks of a link or of the account, and the usage of the plan.',
  Events: 'Read every change of the account as a CloudEvent, in pages or as a stream.',
  Webhooks: 'Receive the events of the account as signed requests.',
  Domains: 'Serve links on own domains.',
  Keys: 'Create keys with fewer scopes or an earlier end, rotate and revoke them.',
  People:
    'Invite people who sign in with an identity provider, change their roles and remove them.',
  Health: 'For load balancers and monitoring, without a key.',
};

export const openApiDocument = () => ({
  openapi: openApi,
  info: { title: 'Linklog', description, ...info },
  servers,
  security: [{ apiKey: [] }],
  tags: Object.entries(tags).map(([name, text]) => ({ name, description: text })),
  paths,
  components: {
    securitySchemes: {
      apiKey: bearer(
        '`Authorization: Bearer ll_…`; operators issue the first keys, and keys create keys.',
      ),
    },
    schemas: componentSchemas({ paths, componentResponses }),
    headers: componentHeaders,
    responses: componentResponses,
  },
});

/** The JSON of a document, in which destinations may have these schemes, too. */
export const documentText = (document: object, { schemes }: Pick<Destinations, 'schemes'>) => {
  const text = JSON.stringify(document);
  if (schemes === 'any' || schemes.length === 0) return text;
  const patterns = [destinationPattern.source, patternWith(schemes)].map((pattern) =>
    JSON.stringify(pattern),
  );
  return text.replaceAll(patterns[0] ?? '', () => patterns[1] ?? '');
};

const operatorRows = Object.entries<OperatorRows[string]>(operatorTable).map(([operation, row]) => {
  const [, subject = ''] = pathOf(row).split('/');
  return [
    operation,
    { parameters: { id: z.string() }, ...row, tag: subject, scope: null },
  ] as const;
});

const operatorPaths = pathsOf('/admin', Object.fromEntries(operatorRows), everyResponse);

/** The document of operators' calls: `GET /admin/openapi.json`. */
export const operatorsDocument = () => {
  const texts = JSON.stringify([operatorPaths, operatorsResponses]);
  const isUsed = (kind: string, name: string): boolean =>
    texts.includes(`"#/components/${kind}/${name}"`);
  const used = (kind: string, parts: SchemaPart): SchemaPart =>
    Object.fromEntries(Object.entries(parts).filter(([name]) => isUsed(kind, name)));
  return {
    openapi: openApi,
    info: { title: "Linklog: operators' calls", ...info },
    servers,
    security: [{ adminToken: [] }],
    paths: operatorPaths,
    components: {
      securitySchemes: { adminToken: bearer('`Authorization: Bearer <ADMIN_TOKEN>`') },
      schemas: componentSchemas({ operatorPaths, operatorsResponses }),
      headers: used('headers', componentHeaders),
      responses: used('responses', operatorsResponses),
    },
  };
};
