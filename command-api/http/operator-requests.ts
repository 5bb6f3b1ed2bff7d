import { type Destinations } from '../../schemas/http/link-fields.js';
import type { Context } from 'koa';
import type { z } from 'zod';
import type { LedgerClock } from '../../ops/ledger/clock.js';
import type { OutboxDelivery, OutboxPosition } from '../../ops/event-log/outbox/port.js';
import type { Actor } from '../../schemas/decision.js';
import {
  operatorTable,
  type BodySchema,
  type OperatorOperation,
  type QuerySchema,
} from '../../schemas/http/operator-routes.js';
import type { DoctorReport } from '../../schemas/http/doctor.js';
import { methodOf, pathOf, type OperatorRows, type RouteRow } from '../../schemas/http/route.js';
import type { PlanTable } from '../../schemas/plans.js';
import type { ActiveDomains } from '../../ops/ledger/active-domains.js';
import type { RequestState } from './app.js';
import type { EventsDeps } from '../events/route.js';
import type { ImportDeps } from '../imports/route.js';
import type { ExportDeps } from '../links/export/route.js';
import type { WebhookCallsDeps } from '../webhooks/webhook-calls.js';
import type { ManagedLinksDeps } from '../links/change/managed-links.js';
import { json, logWithinMs, type Reply } from './reply.js';
import {
  bodyReader,
  parseJsonAs,
  parseQuery,
  type Handler,
  type Read,
  type Route,
} from './requests.js';
import type { People } from '../people/handler.js';
import type { CodeLengths } from '../links/create/code-lengths.js';
import type { ProjectionWorker } from '../projections/handler.js';

export interface AdminState extends RequestState {
  actor: Actor;
  /** The session of the console; absent: the request has the admin token. */
  sessionHash?: Buffer | null;
}

export interface AdminDeps
  extends ManagedLinksDeps, EventsDeps, WebhookCallsDeps, ExportDeps, ImportDeps {
  readonly clock: LedgerClock;
  readonly plans: PlanTable;
  readonly destinations: Destinations;
  /** Whether a name is that of the installation itself. */
  readonly isOwnName: (name: string) => boolean;
  readonly projections: ProjectionWorker;
  /** Examines the installation, which may take longer than a request. */
  readonly examine: () => Promise<DoctorReport>;
  readonly codeLengths: CodeLengths;
  readonly activeDomains: ActiveDomains;
  readonly people: People;
  /** The address of the developers' console; `null` if there is none. */
  readonly consoleUrl: () => string | null;
  /** The origin of the API. */
  readonly apiOrigin: (ctx: Context) => string;
  /** The response to a change that is in effect: `status`, or 202 if the log does not have its event in time. */
  readonly respond: (
    outboxPosition: OutboxPosition,
    status: 200 | 201,
    body: object,
  ) => Promise<Reply>;
}

interface OperatorRequest<Operation extends OperatorOperation> {
  readonly ctx: Context;
  readonly state: AdminState;
  readonly parameter: Parameters<Handler<AdminState>>[2];
  readonly query: z.output<QuerySchema<Operation>>;
  readonly body: z.output<BodySchema<Operation>>;
}

export type OperatorHandler<Operation extends OperatorOperation> = (
  request: OperatorRequest<Operation>,
) => Promise<Reply> | Reply;

export type OperatorHandlers = {
  readonly [Operation in OperatorOperation]: OperatorHandler<Operation>;
};

export type AdminHandlers = (deps: AdminDeps) => Partial<OperatorHandlers>;

export const createRespond =
  (delivery: OutboxDelivery): AdminDeps['respond'] =>
  async (outboxPosition, status, body) =>
    json((await delivery.published(outboxPosition, logWithinMs)) ? status : 202, body);

const readBody = bodyReader(65_536);

const parseBody = async <Schema extends z.ZodType>(
  schema: Schema,
  ctx: Context,
  state: RequestState,
): Promise<Read<z.output<Schema>>> => {
  const body = await readBody(ctx);
  return body.type === 'read' ? parseJsonAs(schema, body.value, state) : body;
};

/** Handles a valid body; an invalid one gets 400. */
export const withBody =
  <Schema extends z.ZodType>(
    schema: Schema,
    handle: (body: z.output<Schema>, state: RequestState, ctx: Context) => Promise<Reply> | Reply,
  ): Handler<RequestState> =>
  async (ctx, state) => {
    const request = await parseBody(schema, ctx, state);
    return request.type === 'read' ? handle(request.value, state, ctx) : request.reply;
  };

const nothing = { type: 'read', value: undefined } as const;

/** The handler of a row, which gets the valid query and body of a request. Other requests get 400. */
const handlerOf = (
  { query: querySchema, body }: Pick<RouteRow, 'query' | 'body'>,
  handle: OperatorHandler<never>,
  destinations: Destinations,
): Handler<AdminState> => {
  const bodySchema = typeof body === 'function' ? body(destinations) : body;
  return async (ctx, state, parameter) => {
    const query = querySchema ? parseQuery(querySchema, ctx) : nothing;
    if (query.type === 'refused') return query.reply;
    const request = bodySchema ? await parseBody(bodySchema, ctx, state) : nothing;
    if (request.type === 'refused') return request.reply;
    const parsed = { query: query.value, body: request.value };
    return handle({ ctx, state, parameter, ...parsed });
  };
};

/** The routes of operators: the rows of the table with their handlers. */
export const operatorRoutes = (
  handlers: OperatorHandlers,
  destinations: Destinations,
): readonly Route<AdminState>[] =>
  Object.entries<OperatorRows[string]>(operatorTable).map(([operation, row]) => ({
    method: methodOf(row),
    path: pathOf(row),
    handler: handlerOf(row, handlers[operation as OperatorOperation], destinations),
  }));
