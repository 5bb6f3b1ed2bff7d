import type { StalledPartitions } from '../../ops/event-log/outbox/stalled-partitions.js';
import {
  messages,
  type MonthlyLimitError,
  type ScopeError,
  type UnauthorizedError,
  type PlanError,
} from '../../schemas/http/errors.js';
import type { UsageResponse } from '../../schemas/http/reports.js';
import { type PlanTable, planHas, type GatedFeature, type PlanName } from '../../schemas/plans.js';
import type { Scope } from '../../schemas/scopes.js';
import type { Admitted, AdmittedCall, CallByHash, CallingKey } from './command.js';
import { isPersonId } from '../../schemas/roles.js';
import type { AdditionalCalls } from './admission.js';
import type { PlatformSwitches } from '../../schemas/folds/platform.js';
import type { RequestState } from '../http/app.js';
import { failure, json, type Reply } from '../http/reply.js';
import type { Read } from '../http/requests.js';
import { optionsWithUrls, type OptionFields } from '../../schemas/link-options.js';

/** The fields of a request that a platform switch or a plan can refuse. */
interface GatedFields extends OptionFields {
  readonly url?: string | undefined;
  readonly alias?: string | null | undefined;
  readonly password?: string | null | undefined;
  readonly expiresIn?: number | null | undefined;
  readonly expiresAt?: string | null | undefined;
}

/** The features that a plan may lack, in the contract's order, with the field of each. */
const gatedFeatures = [
  { feature: 'customAlias', field: 'alias', needs: 'Custom aliases require' },
  { feature: 'passwordProtection', field: 'password', needs: 'Password protection requires' },
] as const satisfies readonly { feature: GatedFeature; field: string; needs: string }[];

/** The first feature of the request that is switched off, in the specification's order. */
const switchedOff = (fields: GatedFields, platform: PlatformSwitches): string | null => {
  const isMoved = fields.url !== undefined || optionsWithUrls.some((name) => fields[name] != null);
  if (isMoved && !platform.shortening) return messages.shorteningOff;
  if (fields.alias != null && !platform.aliases) return messages.aliasesOff;
  if (fields.password != null && !platform.passwords) return messages.passwordsOff;
  const expires = fields.expiresIn != null || fields.expiresAt != null;
  if (expires && !platform.expiration) return messages.expirationOff;
  return null;
};

/** 403 for a feature that the plan of a key lacks. */
export const planRefusal = (
  feature: PlanError['feature'],
  message: string,
  currentPlan: PlanName,
  upgradeUrl: string,
): Reply => {
  const error = 'Forbidden';
  const body: PlanError = { statusCode: 403, message, error, feature, currentPlan, upgradeUrl };
  return json(403, body);
};

/** The refusal by platform switches or plan, in the contract's order, or `null`. */
export const gateRefusal = (
  fields: GatedFields,
  { call, platform }: Pick<V2State, 'call' | 'platform'>,
  { plans, upgradeUrl }: PlanDeps,
): Reply | null => {
  const off = switchedOff(fields, platform);
  if (off !== null) return failure(400, off);
  const { plan } = call.key;
  const lacking = gatedFeatures.find(
    ({ feature, field }) => fields[field] != null && !planHas(plans, plan, feature),
  );
  if (!lacking) return null;
  const { feature, needs } = lacking;
  return planRefusal(
    feature,
    `${needs} the ${plans.gates[feature]} plan or higher.`,
    plan,
    upgradeUrl,
  );
};

export interface V2State extends RequestState {
  call: AdmittedCall;
  /** SHA-256 of the key's secret, hexadecimal. */
  keyHash: string;
  /** See `Credential`. */
  sessionHash: Buffer | null;
  platform: PlatformSwitches;
  /** Partitions that accept no new events; none for a request that needs no log. */
  stalled: StalledPartitions;
  body: string;
  /** Reserves up to `count` calls of the month in addition to the request's own. */
  reserveCalls: (count: number) => Promise<AdditionalCalls>;
}

/** A call that its route admits, in the transaction of the route's own decision. */
export interface UnadmittedCall {
  readonly call: CallByHash;
  readonly body: Read<string>;
  readonly scope: Scope | null;
  /** Sets headers and state after the decision. Returns the reply that ends the request, or `null`. */
  readonly enter: (admitted: Admitted) => Reply | null;
}

/** Percent-encodes all characters except visible ASCII and space. */
const headerText = (name: string): string =>
  name.replace(/[^\x20-\x7e]+/g, (text) => encodeURIComponent(text));

/** The headers of every response to a known key. */
export const rateLimitHeaders = ({ key, window }: AdmittedCall): Record<string, string> => ({
  'X-RateLimit-Limit': String(window.limit),
  'X-RateLimit-Remaining': String(window.remaining),
  'X-RateLimit-Reset': String(Math.ceil(window.resetAt.getTime() / 1_000)),
  'X-API-Key-Name': headerText(key.name),
});

export const unauthorized = (message: string): Reply => {
  const body: UnauthorizedError = { statusCode: 401, message, error: 'Unauthorized' };
  return json(401, body, { 'WWW-Authenticate': 'Bearer' });
};

export const keyInvalid = unauthorized(messages.keyInvalid);

/** The usage of a root key, and the limits of its plan. */
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

export const scopeLacking = (scope: Scope, { id }: Pick<CallingKey, 'id'>): Reply => {
  const message = `${isPersonId(id) ? 'Your role' : 'This key'} lacks the scope ${scope}.`;
  const body: ScopeError = { statusCode: 403, message, error: 'Forbidden', scope };
  return json(403, body);
};

/** The 403 of a key without the scope of a route; `null` if the key has it. */
export const scopeRefusal = (scope: Scope | null, { key }: AdmittedCall): Reply | null =>
  scope === null || key.scopes.includes(scope) ? null : scopeLacking(scope, key);

export interface PlanDeps {
  readonly plans: PlanTable;
  readonly upgradeUrl: string;
}

/** The 429 of a monthly quota. @param limit the limit of the plan; `null` is shown as 0 */
export const monthlyLimitReached = (
  message: string,
  limit: number | null,
  { usage }: AdmittedCall,
  { upgradeUrl }: PlanDeps,
): Reply => {
  const { resetDate } = usage;
  const error = { statusCode: 429, message, limit: limit ?? 0, resetDate, upgradeUrl } as const;
  return json(429, error satisfies MonthlyLimitError);
};
