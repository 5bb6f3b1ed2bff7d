import type { Context } from 'koa';
import { noneStalled } from '../../ops/event-log/outbox/stalled-partitions.js';
import type { Admitted, CallByHash } from '../admission/command.js';
import { topics } from '../../schemas/events/topics.js';
import { addressedCode } from '../links/addressed-link.js';
import { methodOf, pathOf, type RouteRow } from '../../schemas/http/route.js';
import { v2Table } from '../../schemas/http/routes.js';
import { failure, json, send, tooManyRequests, unavailable, type Reply } from './reply.js';
import { bodyReader, createDispatcher, type Handler, type Read, type Route } from './requests.js';
import { handlerOf, type V2Handlers } from './row-handlers.js';
import {
  monthlyLimitReached,
  rateLimitHeaders,
  scopeRefusal,
  unauthorized,
  usageOf,
  type PlanDeps,
  type UnadmittedCall,
  type V2State,
} from '../admission/admitted-call.js';
import { messages } from '../../schemas/http/errors.js';
import { hashKeyToken, isKeyToken } from '../keys/key-token.js';
import { createBulkHandler } from '../links/bulk/route.js';
import { createEventsHandler, type EventsDeps } from '../events/route.js';
import { createDomainHandlers, type DomainDeps } from '../domains/route.js';
import { createKeyHandlers } from '../keys/route.js';
import { createImportHandlers, type ImportDeps } from '../imports/route.js';
import { createExportHandler, type ExportDeps } from '../links/export/route.js';
import { createHistoryHandler } from '../links/history/route.js';
import { createListHandler } from '../links/list/route.js';
import { createCodeHandlers } from '../links/codes/route.js';
import { createLinkHandlers } from '../links/change/route.js';
import { createTagsHandler } from '../links/tags/route.js';
import { createQrHandler, type QrDeps } from '../links/qr/route.js';
import { createShortenHandlers, type ShortenDeps } from '../links/create/route.js';
import { createWebhookHandlers, type WebhookDeps } from '../webhooks/route.js';
import { createShareHandlers, type ShareDeps } from '../shared-statistics/route.js';
import { createPeopleHandlers, type PeopleDeps } from '../people/route.js';
import { createUtmTemplateHandlers } from '../utm-templates/route.js';
import { createStatsHandlers } from '../statistics/route.js';

export type V2Deps = ShortenDeps &
  QrDeps &
  DomainDeps &
  EventsDeps &
  WebhookDeps &
  ExportDeps &
  ImportDeps &
  ShareDeps &
  PeopleDeps;

export interface V2Route
  extends Route<V2State>, Pick<RouteRow, 'scope' | 'bodyLimit' | 'topic' | 'metered'> {
  /** Whether the route needs the log (503 while that is unavailable). Default: the method is not GET. */
  readonly writes?: boolean;
  /** Admits the call itself. Returns `null` for a request that must be admitted before its route. */
  readonly combined?: (ctx: Context, state: V2State, call: UnadmittedCall) => Promise<Reply | null>;
}

/** Maximum length of a body (bytes). */
const usualBodyLimit = 65_536;

/** Operations that parse their requests themselves: most of them have no query, or need the parsed JSON. */
type Unparsed = 'shorten' | 'shortenBatch' | 'getStats' | 'getAccountStats';

/** The routes under /v2: the rows of the table with their handlers. */
export const v2Routes = (deps: V2Deps): readonly V2Route[] => {
  const { admitAndCreate, ...links } = createShortenHandlers(deps);
  const unparsed: Readonly<Record<Unparsed, Handler<V2State>>> = {
    ...links,
    ...createStatsHandlers(deps),
  };
  const handlers: Omit<V2Handlers, Unparsed> = {
    ...createLinkHandlers(deps),
    ...createCodeHandlers(deps),
    ...createShareHandlers(deps),
    ...createUtmTemplateHandlers(deps),
    ...createDomainHandlers(deps),
    ...createKeyHandlers(deps),
    ...createPeopleHandlers(deps),
    ...createWebhookHandlers(deps),
    ...createImportHandlers(deps),
    changeLinks: createBulkHandler(deps),
    listLinks: createListHandler(deps),
    listTags: createTagsHandler(deps),
    exportLinks: createExportHandler(deps),
    getLinkHistory: createHistoryHandler(deps),
    getQrCode: createQrHandler(deps),
    getEvents: createEventsHandler(deps),
    getUsage: ({ state: { call } }) => json(200, usageOf(call, deps.plans)),
  };
  const bodyIn = (_ctx: Context, { body }: V2State): Read<string> => ({
    type: 'read',
    value: body,
  });
  const handlerFor = (operation: string, row: RouteRow): Handler<V2State> =>
    operation in unparsed
      ? unparsed[operation as Unparsed]
      : handlerOf(row, handlers[operation as keyof typeof handlers], deps.destinations, bodyIn);
  return Object.entries<RouteRow>(v2Table).map(([operation, row]) => ({
    ...{ method: methodOf(row), path: pathOf(row), scope: row.scope },
    ...(row.body && { bodyLimit: row.bodyLimit ?? usualBodyLimit }),
    ...(row.topic && { topic: row.topic }),
    ...(row.metered !== undefined && { metered: row.metered }),
    handler: handlerFor(operation, row),
    ...(operation === 'shorten' && { combined: admitAndCreate }),
  }));
};

const bearer = /^Bearer +(\S+) *$/i;
/** `Retry-After` during maintenance, in seconds. */
const maintenanceRetryAfter = 60;

interface Credential {
  /** SHA-256 of the secret; `null` if the request has no well-formed secret. */
  readonly keyHash: string | null;
  /** The hash of the console session's token; absent for other requests. */
  readonly sessionHash?: Buffer | null;
  /** The message of the 401 if no active key has this secret. */
  readonly message: string;
}

export type Authenticate = (ctx: Context) => Credential | Promise<Credential>;

/** Reads the key from `Authorization`. */
export const bearerKey = ({ headers }: Context): Credential => {
  const token = bearer.exec(headers.authorization ?? '')?.[1];
  if (token === undefined) return { keyHash: null, message: messages.keyMissing };
  return { keyHash: isKeyToken(token) ? hashKeyToken(token) : null, message: messages.keyInvalid };
};

/** What admission needs to know of a request. */
interface Requirements {
  /** Whether it needs the log. */
  readonly writes: boolean;
  readonly metered: boolean;
  readonly found: V2Route | undefined;
  /** Those of the path. */
  readonly parameters: Readonly<Record<string, string>>;
}

const admissionRefusal = (
  { admission }: Admitted,
  message: string,
  deps: PlanDeps,
): Reply | null => {
  switch (admission.type) {
    case 'admitted':
      return null;
    case 'maintenance':
      return unavailable(messages.maintenance, maintenanceRetryAfter);
    case 'keyInvalid':
      return unauthorized(message);
    case 'logUnavailable':
      return unavailable(messages.logUnavailable);
    case 'rateLimited': {
      const { now, window } = admission.call;
      return tooManyRequests(messages.rateLimited, window.resetAt.getTime() - now.getTime());
    }
    case 'callsExhausted': {
      const { call } = admission;
      const { monthlyCalls } = deps.plans.plans[call.key.plan];
      return monthlyLimitReached(messages.callsExhausted, monthlyCalls, call, deps);
    }
    default: {
      const unknown: never = admission;
      return unknown;
    }
  }
};

/** Sets the headers and the state of a request after admission. Returns the reply that ends it, or `null`. */
const enter = (
  ctx: Context,
  state: V2State,
  deps: PlanDeps,
  { message }: Credential,
  admitted: Admitted,
): Reply | null => {
  const call = 'call' in admitted.admission ? admitted.admission.call : null;
  if (call) {
    Object.assign(state.headers, rateLimitHeaders(call));
    state.keyId = call.key.id;
    state.call = call;
  }
  state.platform = admitted.platform;
  return admissionRefusal(admitted, message, deps);
};

/** Checks body and scope, in the contract's order. */
const refusalOf = (
  { scope }: V2Route,
  body: Read<string> | undefined,
  { call }: V2State,
): Reply | null => {
  if (body?.type === 'refused') return body.reply;
  return scopeRefusal(scope, call);
};

const withChecks = (route: V2Route) => {
  const readBody = route.bodyLimit === undefined ? undefined : bodyReader(route.bodyLimit);
  const handler: Handler<V2State> = async (ctx, state, parameter) => {
    // The body of a tool call is in the state.
    const body = 'body' in state ? undefined : await readBody?.(ctx);
    if (body?.type === 'read') state.body = body.value;
    return refusalOf(route, body, state) ?? route.handler(ctx, state, parameter);
  };
  return { ...route, readBody, handler };
};

/** The routes under a prefix, with the contract's order of checks. */
export const createV2 = (
  deps: V2Deps,
  routes = v2Routes(deps),
  prefix = '/v2',
  authenticate: Authenticate = bearerKey,
) => {
  const router = createDispatcher(prefix, routes.map(withChecks));

  /** What admission needs to know of the request. */
  const requirementsOf = (method: string, path: string) => {
    const { ofPath, found, parameters } = router.match(path, method);
    return {
      // A POST to an unknown path gets the 503 of an unavailable log, too.
      writes: found ? (found.writes ?? found.method !== 'GET') : method === 'POST',
      metered: !ofPath.some((route) => route.metered === false),
      ...{ found, parameters },
    };
  };

  /** Whether the partition of a request's events, if known, or every partition of its topic is stalled. */
  const isStalled = (
    ctx: Context,
    found: V2Route | undefined,
    parameters: Readonly<Record<string, string>>,
  ): boolean => {
    const { stalled } = ctx.state as V2State;
    const topic = found?.topic ?? topics.links.name;
    if (!found?.path.includes(':shortCode')) return stalled.includesAll(topic);
    const link = addressedCode(ctx, (name) => parameters[name] ?? '');
    return link.type === 'read' && stalled.includes(topic, link.value);
  };

  /** Identifies a request, and what admission needs to know of it. */
  const identify = async (
    ctx: Context,
    { writes, metered, found, parameters }: Requirements,
  ): Promise<CallByHash & Credential> => {
    const state = ctx.state as V2State;
    state.stalled = writes ? await deps.delivery.stalled() : noneStalled;
    const logUnavailable = !state.stalled.areNone && isStalled(ctx, found, parameters);
    const call = { metered, logUnavailable, ...(await authenticate(ctx)) };
    state.keyHash = call.keyHash ?? '';
    state.sessionHash = call.sessionHash ?? null;
    state.reserveCalls = (count) =>
      deps.admission.reserveCalls(state.call.key, count, call.keyHash);
    return call;
  };

  const admit = async (ctx: Context, call: CallByHash & Credential): Promise<Reply | null> =>
    enter(ctx, ctx.state, deps, call, await deps.admission.admit(call));

  /** Only for recently admitted keys: the body of an unauthenticated request is not read. */
  const admitAndHandle = async (
    ctx: Context,
    route: ReturnType<typeof withChecks> | undefined,
    call: CallByHash & Credential,
  ): Promise<Reply | null> => {
    if (!route?.combined || !route.readBody) return null;
    if (!deps.admission.wasAdmittedRecently(call.keyHash)) return null;
    const body = await route.readBody(ctx);
    return route.combined(ctx, ctx.state, {
      call,
      body,
      scope: route.scope,
      enter: (admitted) =>
        enter(ctx, ctx.state, deps, call, admitted) ?? refusalOf(route, body, ctx.state),
    });
  };

  const handle = async (ctx: Context): Promise<void> => {
    if (ctx.path !== prefix && !ctx.path.startsWith(`${prefix}/`)) {
      send(ctx, failure(404, messages.notFound));
      return;
    }
    // Set first, so that error responses have it, too.
    (ctx.state as V2State).headers['Cache-Control'] = 'no-store';
    const requirements = requirementsOf(ctx.method, ctx.path);
    const call = await identify(ctx, requirements);
    const reply = (await admitAndHandle(ctx, requirements.found, call)) ?? (await admit(ctx, call));
    if (reply) send(ctx, reply);
    else await router.dispatch(ctx);
  };
  return {
    handle,
    routeOf: (path: string) => router.routeOf(path),
    requirementsOf,
    /** Admits a request. Returns the reply that refuses it, or `null`. */
    admit: async (ctx: Context, requirements: Requirements): Promise<Reply | null> =>
      admit(ctx, await identify(ctx, requirements)),
    /** The response to an admitted request. */
    respond: router.respond,
  };
};
