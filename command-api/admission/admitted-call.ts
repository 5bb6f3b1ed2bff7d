import type { Context } from 'koa';
import {
  messages,
  type MonthlyLimitError,
  type ScopeError,
  type UnauthorizedError,
} from '../../schemas/http/errors.js';
import type { UsageResponse } from '../../schemas/http/reports.js';
import type { PlanTable } from '../../schemas/plans.js';
import type { Scope } from '../../schemas/scopes.js';
import type { AdmittedCall } from './rate-limits.js';
import { hashKeyToken, isKeyToken } from '../keys/key-token.js';
import type { Admitted, CallByHash, PlatformSwitches } from './admission.js';
import type { FurtherCalls } from './additional-calls.js';
import type { RequestState } from '../http/app.js';
import { failure, json, unavailable, type Reply } from '../http/reply.js';
import type { Read } from '../http/requests.js';

/** A request that admission let in. */
export interface V2State extends RequestState {
  call: AdmittedCall;
  platform: PlatformSwitches;
  /** The text of the body, of a route that has one. */
  body: string;
  /** Takes calls for what the request does beside its first step, as many as there are; the minute counts none. */
  takeFurther: (count: number) => Promise<FurtherCalls>;
}

/** A call that its route admits. */
export interface UnadmittedCall {
  readonly call: CallByHash;
  readonly body: Read<string>;
  /** Takes note of what admission said. Gives the reply that ends the request, or `null`: the route may go on. */
  readonly enter: (admitted: Admitted) => Reply | null;
}

const bearer = /^Bearer +(\S+) *$/i;
/** `Retry-After` during maintenance, in seconds. */
const maintenanceRetryAfter = 60;

/** Visible ASCII and the space stay; everything else is percent-encoded, as the contract says. */
const headerText = (name: string): string =>
  name.replace(/[^\x20-\x7e]+/g, (text) => encodeURIComponent(text));

/** The headers that every answer to a known key carries. */
export const rateLimitHeaders = ({ key, window }: AdmittedCall): Record<string, string> => ({
  'X-RateLimit-Limit': String(window.limit),
  'X-RateLimit-Remaining': String(window.remaining),
  'X-RateLimit-Reset': String(Math.ceil(window.resetAt.getTime() / 1_000)),
  'X-API-Key-Name': headerText(key.name),
});

/** How a request names its key. */
export interface Credential {
  /** SHA-256 of a secret; `null` where the request has nothing that can be one. */
  readonly keyHash: string | null;
  /** Why, in the 401 where no live key has this secret. */
  readonly message: string;
}

export type Authenticate = (ctx: Context) => Credential | Promise<Credential>;

/** By `Authorization`, and by nothing else. */
export const bearerKey: Authenticate = ({ headers }) => {
  const token = bearer.exec(headers.authorization ?? '')?.[1];
  if (token === undefined) return { keyHash: null, message: messages.keyMissing };
  return { keyHash: isKeyToken(token) ? hashKeyToken(token) : null, message: messages.keyInvalid };
};

export const unauthorized = (message: string): Reply => {
  const body: UnauthorizedError = { statusCode: 401, message, error: 'Unauthorized' };
  return json(401, body, { 'WWW-Authenticate': 'Bearer' });
};

export const keyInvalid = unauthorized(messages.keyInvalid);

/** What a key's root has spent, and what its plan allows. */
export const usageOf = ({ key, usage }: AdmittedCall, { plans }: PlanTable): UsageResponse => {
  const plan = plans[key.plan];
  return {
    plan: key.plan,
    calls: { used: usage.calls, limit: plan.monthlyCalls },
    links: { used: usage.links, limit: plan.monthlyLinks },
    qrCodes: { used: usage.qrCodes, limit: plan.monthlyQrCodes },
    resetDate: usage.resetDate,
  };
};

export const scopeLacking = (scope: Scope): Reply => {
  const message = `This key lacks the scope ${scope}.`;
  const body: ScopeError = { statusCode: 403, message, error: 'Forbidden', scope };
  return json(403, body);
};

/** What the refusals of `/v2` are made from. */
export interface PlanDeps {
  readonly plans: PlanTable;
  readonly upgradeUrl: string;
}

/** The 429 of a monthly quota. @param limit the plan's; `null`, which nothing exceeds, is shown as 0 */
export const monthlyLimitReached = (
  message: string,
  limit: number | null,
  { usage }: AdmittedCall,
  { upgradeUrl }: PlanDeps,
): Reply => {
  const { resetDate } = usage;
  const shown = limit ?? 0;
  const body: MonthlyLimitError = { statusCode: 429, message, limit: shown, resetDate, upgradeUrl };
  return json(429, body);
};

const refusalOf = ({ admission }: Admitted, message: string, deps: PlanDeps): Reply | null => {
  switch (admission.type) {
    case 'admitted':
      return null;
    case 'maintenance':
      return unavailable(messages.maintenance, maintenanceRetryAfter);
    case 'keyInvalid':
      return unauthorized(message);
    case 'logAway':
      return unavailable(messages.logUnavailable);
    case 'rateLimited': {
      const { now, window } = admission.call;
      const left = Math.ceil((window.resetAt.getTime() - now.getTime()) / 1_000);
      const retryAfter = Math.max(1, left);
      const headers = { 'Retry-After': String(retryAfter) };
      return { ...failure(429, messages.rateLimited, headers), retryAfter };
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

/**
 * Takes note of what admission said of a request: sets the headers of a known key, and gives the reply that ends
 * the request, or `null` for one that may go on.
 */
export const enter = (
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
  return refusalOf(admitted, message, deps);
};
