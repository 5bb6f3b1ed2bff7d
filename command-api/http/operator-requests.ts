import type { Context } from 'koa';
import type { z } from 'zod';
import type { OutboxDelivery, OutboxPosition } from '../../ops/event-log/outbox/port.js';
import type { Actor } from '../../schemas/decision.js';
import type { PlanTable } from '../../schemas/plans.js';
import type { RequestState } from './app.js';
import type { ManagedLinksDeps } from '../links/change/managed-links.js';
import { json, type Reply } from './reply.js';
import { bodyReader, parseJsonAs, parseQuery, type Handler, type Route } from './requests.js';
import type { ProjectionWorker } from '../projections/worker.js';

/** A request of an operator whose token was right. */
export interface AdminState extends RequestState {
  actor: Actor;
}

export interface AdminDeps extends ManagedLinksDeps {
  readonly plans: PlanTable;
  readonly isOwnHost: (destination: URL) => boolean;
  readonly projections: ProjectionWorker;
  /** Where the developers' console is; `null`: nowhere. */
  readonly consoleUrl: () => string | null;
  /** Answers a change that is in effect: with its status, or with 202 while the log lacks its event. */
  readonly settle: (
    outboxPosition: OutboxPosition,
    status: 200 | 201,
    body: object,
  ) => Promise<Reply>;
}

/** Makes the routes of one subject; their paths are below /admin. */
export type AdminRoutes = (deps: AdminDeps) => readonly Route<AdminState>[];

/** Milliseconds that a change which has taken effect waits for the log: its answer is due in time. */
const logWithinMs = 1_500;

export const createSettle =
  (delivery: OutboxDelivery): AdminDeps['settle'] =>
  async (outboxPosition, status, body) =>
    json((await delivery.published(outboxPosition, logWithinMs)) ? status : 202, body);

type Parameter = Parameters<Handler<AdminState>>[2];

const readBody = bodyReader(65_536);

/** Parses a body and answers it, or says what is wrong with it. */
export const withBody =
  <Schema extends z.ZodType, State extends RequestState = AdminState>(
    schema: Schema,
    answer: (
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
    return request.type === 'read' ? answer(request.value, state, parameter, ctx) : request.reply;
  };

/** Parses a query and answers it, or says what is wrong with it. */
export const withQuery =
  <Schema extends z.ZodType>(
    schema: Schema,
    answer: (query: z.output<Schema>, parameter: Parameter) => Promise<Reply>,
  ): Handler<AdminState> =>
  async (ctx, _state, parameter) => {
    const query = parseQuery(schema, ctx);
    return query.type === 'read' ? answer(query.value, parameter) : query.reply;
  };
