/**
 * The rows of the route tables. A row is the only description of a route: the routes, the OpenAPI documents, the checks
 * of responses in tests and the calls of the command line are derived from it.
 */
import { type Destinations } from './link-fields.js';
import type { z } from 'zod';
import type { TopicName } from '../events/topics.js';
import type { Scope } from '../scopes.js';

/** `GET` includes `HEAD`. */
export const routeMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

export type RouteMethod = (typeof routeMethods)[number];

/** Own hosts depend on the installation. */
type RequestBody = z.ZodType | ((accepted: Destinations) => z.ZodType);

type Examples = Readonly<Record<string, object>>;

/** A file in a response. JSON Schema describes neither JSON lines nor CSV. */
interface ResponseFile {
  /** The schema of each line. */
  readonly item?: z.ZodType;
  readonly example?: string;
}

export interface Success {
  /** Default: the text of the status. */
  readonly description?: string;
  /** `null`: no JSON. */
  readonly schema: z.ZodType | null;
  readonly examples?: Examples;
  /** Other contents, by media type. */
  readonly files?: Readonly<Record<string, ResponseFile>>;
  /** Headers in addition to those of the listener and of the row. */
  readonly headers?: readonly ('ETag' | 'Vary' | 'Content-Disposition' | 'Linklog-Reused')[];
  /** OpenAPI links. */
  readonly links?: object;
}

export interface RouteRow {
  /** Method and path, relative to /v2 or /admin. */
  readonly route: `${RouteMethod} /${string}`;
  readonly summary: string;
  /** Only operators' calls may have none. */
  readonly description?: string;
  readonly tag: string;
  /** The required scope of the key, or `null`. */
  readonly scope: Scope | null;
  /** Whether a call counts toward the month. Default: true. All calls count toward the minute. */
  readonly metered?: boolean;
  /** The topic of its events; by default that of links. */
  readonly topic?: TopicName;
  /** Parameters of the path that are no UUIDs. */
  readonly parameters?: Readonly<Record<string, z.ZodType>>;
  readonly query?: z.ZodObject;
  /** Request headers with their descriptions. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the route accepts `Idempotency-Key`. */
  readonly isIdempotent?: boolean;
  readonly body?: RequestBody;
  /** Bytes of the body. Default: 65,536. */
  readonly bodyLimit?: number;
  readonly examples?: Examples;
  /** An example of a body that is a file of any type. */
  readonly file?: string;
  readonly returns: Readonly<Record<number, Success>>;
  /** Statuses of errors that do not follow from the scope, the parameters and the body. */
  readonly errors?: readonly number[];
}

/** Rows of operators' calls, which have no scope. Their tag is the first segment of the path. */
export type OperatorRows = Readonly<Record<string, Omit<RouteRow, 'tag' | 'scope'>>>;

export type RouteTable = Readonly<Record<string, RouteRow>>;

/** The rows of one subject, by operation, with what they have in common. */
export const routeGroup = <
  Rows extends Readonly<Record<string, Omit<RouteRow, 'tag' | 'scope'> & Partial<RouteRow>>>,
>(
  common: Pick<RouteRow, 'tag' | 'scope' | 'metered' | 'topic' | 'parameters'>,
  rows: Rows,
) =>
  Object.fromEntries(
    Object.entries(rows).map(([operation, row]) => [operation, { ...common, ...row }]),
  ) as {
    readonly [Operation in keyof Rows]: Omit<RouteRow, 'query' | 'body'> &
      Pick<Rows[Operation], Extract<keyof Rows[Operation], 'query' | 'body'>>;
  };

/** A JSON response. */
export const json = <Schema extends z.ZodType>(
  description: string,
  schema: Schema,
  examples: Examples,
  more: Omit<Success, 'schema' | 'description' | 'examples'> = {},
) => ({ description, schema, examples, ...more });

/** An OpenAPI link to an operation, whose parameter is the field of the response with the same name. */
export const linkTo = (operationId: string, field: string): object => ({
  operationId,
  parameters: { [field]: `$response.body#/${field}` },
});

/** Links with the names of their operations. */
export const linksTo = (field: string, ...operations: readonly string[]) => ({
  links: Object.fromEntries(operations.map((operation) => [operation, linkTo(operation, field)])),
});

/** A response without a body. */
export const done = (description: string): Success => ({ description, schema: null });

type SchemaOf<Body> = Body extends (...options: never) => infer Schema ? Schema : Body;

/** The valid query of a request; `undefined` without one. */
export type QueryOf<Row> = Row extends { readonly query: infer Query extends z.ZodType }
  ? z.output<Query>
  : undefined;

/** The valid body of a request; `undefined` without one. */
export type BodyOf<Row> = Row extends { readonly body: infer Body }
  ? z.output<SchemaOf<Body>>
  : undefined;

export const methodOf = ({ route }: Pick<RouteRow, 'route'>): RouteMethod =>
  route.slice(0, route.indexOf(' ')) as RouteMethod;

/** The path relative to the prefix, with parameters such as `:id`. */
export const pathOf = ({ route }: Pick<RouteRow, 'route'>): string =>
  route.slice(route.indexOf(' ') + 1);

export const returning = <Schema extends z.ZodType>(
  schema: Schema,
  ...statuses: readonly number[]
) =>
  Object.fromEntries(statuses.map((status) => [status, { schema }])) as Readonly<
    Record<number, { readonly schema: Schema }>
  >;

export const found = <Schema extends z.ZodType>(schema: Schema) => returning(schema, 200);

/** Responses to a change that is in effect. 202: its event is not in the log yet. */
export const changed = <Schema extends z.ZodType>(schema: Schema, ...statuses: readonly number[]) =>
  returning(schema, ...(statuses.length > 0 ? statuses : [200]), 202);

/** A row. Method and path are relative to /v2 or /admin. */
export const call = <
  Parts extends Pick<RouteRow, 'returns'> & Partial<Omit<RouteRow, 'route' | 'summary'>>,
>(
  route: RouteRow['route'],
  summary: string,
  parts: Parts,
) => ({ route, summary, ...parts });
