import type { Context } from 'koa';
import {
  messages,
  type MonthlyLimitError,
  type UnauthorizedError,
} from '../../../schemas/http/errors.js';
import type { AdmittedCall } from '../../domain/rate-limits.js';
import { hashKeyToken, isKeyToken } from '../../domain/key-token.js';
import type { Admitted, Admission, PlatformSwitches } from '../../ledger/admission.js';
import type { RequestState } from '../app.js';
import { failure, json, unavailable, type Reply } from '../reply.js';

/** A request that admission let in. */
export interface V2State extends RequestState {
  call: AdmittedCall;
  platform: PlatformSwitches;
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

const unauthorized = (message: string): Reply => {
  const body: UnauthorizedError = { statusCode: 401, message, error: 'Unauthorized' };
  return json(401, body, { 'WWW-Authenticate': 'Bearer' });
};

/** The seconds until a window resets; at least one. */
const secondsLeft = ({ now, window }: AdmittedCall): number =>
  Math.max(1, Math.ceil((window.resetAt.getTime() - now.getTime()) / 1_000));

/** The monthly quota's own 429. */
export const monthlyLimitReached = (
  message: string,
  limit: number,
  { usage }: AdmittedCall,
  upgradeUrl: string,
): Reply => {
  const { resetDate } = usage;
  const body: MonthlyLimitError = { statusCode: 429, message, limit, resetDate, upgradeUrl };
  return json(429, body);
};

const refusal = (
  { admission }: Admitted,
  hasKey: boolean,
  callLimit: (call: AdmittedCall) => number,
  upgradeUrl: string,
): Reply | null => {
  switch (admission.type) {
    case 'admitted':
      return null;
    case 'maintenance':
      return unavailable(messages.maintenance, maintenanceRetryAfter);
    case 'keyInvalid':
      return unauthorized(hasKey ? messages.keyInvalid : messages.keyMissing);
    case 'logAway':
      return unavailable(messages.logUnavailable);
    case 'rateLimited': {
      const retryAfter = secondsLeft(admission.call);
      return {
        ...failure(429, messages.rateLimited, { 'Retry-After': String(retryAfter) }),
        retryAfter,
      };
    }
    case 'callsExhausted': {
      const { call } = admission;
      return monthlyLimitReached(messages.callsExhausted, callLimit(call), call, upgradeUrl);
    }
    default: {
      const unknown: never = admission;
      return unknown;
    }
  }
};

/**
 * Authenticates and admits a request: sets the headers of a known key, and gives the reply that
 * ends it, or `null` for one that may go on.
 */
export const admitRequest = async (
  ctx: Context,
  state: V2State,
  admission: Admission,
  options: {
    readonly metered: boolean;
    /** Whether the request needs the log while that is away. */
    readonly held: boolean;
    readonly callLimit: (call: AdmittedCall) => number;
    readonly upgradeUrl: string;
  },
): Promise<Reply | null> => {
  const { authorization } = ctx.headers;
  const token = bearer.exec(authorization ?? '')?.[1];
  const keyHash = token !== undefined && isKeyToken(token) ? hashKeyToken(token) : null;
  const admitted = await admission.admit({ keyHash, metered: options.metered, held: options.held });
  const call = 'call' in admitted.admission ? admitted.admission.call : null;
  if (call) {
    ctx.set(rateLimitHeaders(call));
    state.keyId = call.key.id;
    state.call = call;
  }
  state.platform = admitted.platform;
  return refusal(admitted, token !== undefined, options.callLimit, options.upgradeUrl);
};
