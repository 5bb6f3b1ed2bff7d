import type { Context } from 'koa';
import type { z } from 'zod';
import type { LedgerClock } from '../../ops/ledger/clock.js';
import type { OutboxDelivery, OutboxPosition } from '../../ops/event-log/outbox/port.js';
import type { Actor } from '../../schemas/decision.js';
import type { PlanTable } from '../../schemas/plans.js';
import type { RequestState } from './app.js';
import type { EventsDeps } from '../events/route.js';
import type { ImportDeps } from '../imports/route.js';
import type { ExportDeps } from '../links/export/route.js';
import type { WebhookCallsDeps } from '../webhooks/webhook-calls.js';
import type { ManagedLinksDeps } from '../links/change/managed-links.js';
import { json, logWithinMs, type Reply } from './reply.js';
import { bodyReader, parseJsonAs, parseQuery, type Handler, type Route } from './requests.js';
import type { ProjectionWorker } from '../projections/handler.js';

/** The state of an authenticated request of an operator. */
export interface AdminState extends RequestState {
  actor: Actor;
}

export interface AdminDeps
  extends ManagedLinksDeps, EventsDeps, WebhookCallsDeps, ExportDeps, ImportDeps {
  readonly clock: LedgerClock;
  readonly plans: PlanTable;
  readonly isOwnHost: (destination: URL) => boolean;
  /** Whether a name is that of the installation itself. */
  readonly isOwnName: (name: string) => boolean;
  readonly projections: ProjectionWorker;
  /** The address of the developers' console; `null` if there is none. */
  readonly consoleUrl: () => string | null;
  /** The response to a change that is in effect: `status`, or 202 if the log does not have its event in time. */
  readonly respond: (
    outboxPosition: OutboxPosition,
    status: 200 | 201,
    body: object,
  ) => Promise<Reply>;
}

/** Creates the routes of one subject. Their paths are relative to /admin. */
export type AdminRoutes = (deps: AdminDeps) => readonly Route<AdminState>[];

export const createRespond =
  (delivery: OutboxDelivery): AdminDeps['respond'] =>
  async (outboxPosition, status, body) =>
    json((await delivery.published(outboxPosition, logWithinMs)) ? status : 202, body);

type Parameter = Parameters<Handler<AdminState>>[2];

const readBody = bodyReader(65_536);

/** Handles a valid body; an invalid one gets 400. */
export const withBody =
  <Schema extends z.ZodType, State extends RequestState = AdminState>(
    schema: Schema,
    handle: (
      body: z.output<Schema>,
      state: State,
      parameter: Parameter,
      ctx: Context,
    ) => Promise<Reply> | Reply,
  ): Handler<State> =>
  async (ctx, state, parameter) => {
    const body = await readBody(ctx);
    if (body.type === 'refused') return body.reply;
    const request = parseJsonAs(schema, body.value, state);
    return request.type === 'read' ? handle(request.value, state, parameter, ctx) : request.reply;
  };

/** Handles a valid query; an invalid one gets 400. */
export const withQuery =
  <Schema extends z.ZodType>(
    schema: Schema,
    handle: (query: z.output<Schema>, parameter: Parameter, ctx: Context) => Promise<Reply>,
  ): Handler<AdminState> =>
  async (ctx, _state, parameter) => {
    const query = parseQuery(schema, ctx);
    return query.type === 'read' ? handle(query.value, parameter, ctx) : query.reply;
  };
