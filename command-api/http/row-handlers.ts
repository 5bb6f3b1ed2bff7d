/** Handlers of the rows of a route table: they get the valid query and body of a request. */
import type { Context } from 'koa';
import type { z } from 'zod';
import type { Actor } from '../../schemas/decision.js';
import type { Destinations } from '../../schemas/http/link-fields.js';
import type { BodyOf, QueryOf, RouteRow } from '../../schemas/http/route.js';
import type { v2Table } from '../../schemas/http/routes.js';
import type { V2State } from '../admission/admitted-call.js';
import type { RequestState } from './app.js';
import type { Reply } from './reply.js';
import { actorIn } from './request-actor.js';
import { bodyReader, parseJsonAs, parseQuery, type Handler, type Read } from './requests.js';

/** The state of an operator's request. */
export interface AdminState extends RequestState {
  actor: Actor;
  /** The session of the console; absent: the request has the admin token. */
  sessionHash?: Buffer | null;
}

export const isOfOperator = (state: V2State | AdminState): state is AdminState =>
  state.actor !== undefined;

/** The account whose data a request concerns; `null`: those of all accounts, because an operator sent it. */
export const accountOf = (state: V2State | AdminState): string | null =>
  isOfOperator(state) ? null : state.call.key.account;

export const actorOf = (state: V2State | AdminState): Actor =>
  isOfOperator(state) ? state.actor : actorIn(state, state.call.key.id);

interface RowRequest<State, Row> {
  readonly ctx: Context;
  readonly state: State;
  readonly parameter: Parameters<Handler<State>>[2];
  readonly query: QueryOf<Row>;
  readonly body: BodyOf<Row>;
}

/** A request of a client or of an operator. */
export type AnyRequest<Operation extends keyof V2Handlers> = Omit<
  Parameters<V2Handlers[Operation]>[0],
  'state'
> & { readonly state: V2State | AdminState };

type RowHandler<State, Row> = (request: RowRequest<State, Row>) => Promise<Reply> | Reply;

/** The handlers of a table, by operation. */
export type TableHandlers<State, Table> = {
  readonly [Operation in keyof Table]: RowHandler<State, Table[Operation]>;
};

export type V2Handlers = TableHandlers<V2State, typeof v2Table>;
export type V2Handler<Operation extends keyof V2Handlers> = V2Handlers[Operation];

type ReadBody<State> = (ctx: Context, state: State) => Promise<Read<string>> | Read<string>;

const parseBody = async <State extends RequestState, Schema extends z.ZodType>(
  schema: Schema,
  readBody: ReadBody<State>,
  ctx: Context,
  state: State,
): Promise<Read<z.output<Schema>>> => {
  const body = await readBody(ctx, state);
  return body.type === 'read' ? parseJsonAs(schema, body.value, state) : body;
};

/** Reads a body of at most 64 KiB. */
export const readUsualBody = bodyReader(65_536);

/** Handles a valid body; an invalid one gets 400. */
export const withBody =
  <Schema extends z.ZodType>(
    schema: Schema,
    handle: (body: z.output<Schema>, state: RequestState, ctx: Context) => Promise<Reply> | Reply,
  ): Handler<RequestState> =>
  async (ctx, state) => {
    const request = await parseBody(schema, readUsualBody, ctx, state);
    return request.type === 'read' ? handle(request.value, state, ctx) : request.reply;
  };

const nothing = { type: 'read', value: undefined } as const;

/** Handles requests with a valid query and body; others get 400. */
export const handlerOf = <State extends RequestState>(
  { query: querySchema, body }: Pick<RouteRow, 'query' | 'body'>,
  handle: RowHandler<State, never>,
  destinations: Destinations,
  readBody: ReadBody<State>,
): Handler<State> => {
  const bodySchema = typeof body === 'function' ? body(destinations) : body;
  return async (ctx, state, parameter) => {
    const query = querySchema ? parseQuery(querySchema, ctx) : nothing;
    if (query.type === 'refused') return query.reply;
    const request = bodySchema ? await parseBody(bodySchema, readBody, ctx, state) : nothing;
    if (request.type === 'refused') return request.reply;
    const parsed = { query: query.value, body: request.value };
    return handle({ ctx, state, parameter, ...parsed } as RowRequest<State, never>);
  };
};
