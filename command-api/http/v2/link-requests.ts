import type { PasswordHasher } from '../../../ops/platform/passwords/password-hasher.js';
import { messages, type PlanError } from '../../../schemas/http/errors.js';
import { shortenRequest, type ShortenRequest } from '../../../schemas/http/shorten.js';
import { planHas, type GatedFeature, type PlanTable } from '../../../schemas/plans.js';
import type { AdmittedCall } from '../../domain/rate-limits.js';
import type { CreateLink, ShortenRefusal } from '../../domain/link.js';
import type { FindReservation } from '../../domain/reserved-alias.js';
import type { PlatformSwitches } from '../../ledger/admission.js';
import type { SafetyCheck, SafetyVerdict } from '../../safety/safety-check.js';
import { failure, json, unavailable, type Reply } from '../reply.js';
import { parseAs } from '../requests.js';
import { monthlyLimitReached, type V2State } from './admitted-call.js';

export interface LinkRequestDeps {
  readonly plans: PlanTable;
  readonly isOwnHost: (destination: URL) => boolean;
  readonly safety: SafetyCheck;
  readonly findReservation: FindReservation;
  /** The account that may use each of these reserved aliases (lower case), if there is one. */
  readonly overriddenFor: (aliases: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  readonly generateCode: () => string;
  readonly upgradeUrl: string;
  readonly passwords: Pick<PasswordHasher, 'hashAll'>;
}

/** Checked; only the hash of its password is missing. */
export interface Ready {
  readonly type: 'ready';
  readonly create: Omit<CreateLink, 'passwordHash'>;
  readonly password: string | null;
}

/** A request for a link that only the ledger can still refuse, or the reply that refuses it. */
export type Prepared = Ready | { readonly type: 'refused'; readonly reply: Reply };

export type LinkRequests = ReturnType<typeof createLinkRequests>;

/** `Retry-After` while the web safety service is away, in seconds. */
const safetyRetryAfter = 5;

/** A request on its way through the checks. */
type Checked =
  | { readonly type: 'accepted'; readonly request: ShortenRequest }
  | Extract<Prepared, { readonly type: 'refused' }>;

const refused = (reply: Reply): Extract<Prepared, { readonly type: 'refused' }> => ({
  type: 'refused',
  reply,
});

const safetyReplies: Readonly<Record<SafetyVerdict, Reply | null>> = {
  safe: null,
  unsafe: failure(400, messages.urlUnsafe),
  unknown: unavailable(messages.safetyUnavailable, safetyRetryAfter),
};

/** The features that a plan may lack, in the contract's order, each with the field that needs it. */
const gatedFeatures = [
  { feature: 'customAlias', field: 'alias', needs: 'Custom aliases require' },
  { feature: 'passwordProtection', field: 'password', needs: 'Password protection requires' },
] as const satisfies readonly { feature: GatedFeature; field: string; needs: string }[];

/** The first feature of the request that is switched off, in the specification's order. */
const switchedOff = (request: ShortenRequest, platform: PlatformSwitches): string | null => {
  if (!platform.shortening) return messages.shorteningOff;
  if (request.alias !== null && !platform.aliases) return messages.aliasesOff;
  if (request.password !== null && !platform.passwords) return messages.passwordsOff;
  if (request.expiresIn !== null && !platform.expiration) return messages.expirationOff;
  return null;
};

/** What POST /v2/shorten and each item of a batch have in common. */
export const createLinkRequests = (deps: LinkRequestDeps) => {
  const { plans, upgradeUrl } = deps;
  const schema = shortenRequest(deps.isOwnHost);

  const planRefusal = (
    { feature, needs }: (typeof gatedFeatures)[number],
    currentPlan: PlanError['currentPlan'],
  ): Reply => {
    const body: PlanError = {
      statusCode: 403,
      message: `${needs} the ${plans.gates[feature]} plan or higher.`,
      error: 'Forbidden',
      feature,
      currentPlan,
      upgradeUrl,
    };
    return json(403, body);
  };

  const linkLimitOf = (call: AdmittedCall): number | null =>
    plans.plans[call.key.plan].monthlyLinks;

  const linksExhausted = (call: AdmittedCall): Reply =>
    monthlyLimitReached(messages.linksExhausted, linkLimitOf(call) ?? 0, call, upgradeUrl);

  /** What the key, its plan and the platform's switches refuse, in the contract's order. */
  const refusalOf = (request: ShortenRequest, { call, platform }: V2State): Reply | null => {
    const off = switchedOff(request, platform);
    if (off !== null) return failure(400, off);
    const { plan } = call.key;
    const lacking = gatedFeatures.find(({ feature, field }) => {
      return request[field] !== null && !planHas(plans, plan, feature);
    });
    if (lacking) return planRefusal(lacking, plan);
    const limit = linkLimitOf(call);
    return limit !== null && call.usage.links >= limit ? linksExhausted(call) : null;
  };

  const checked = (body: unknown, state: V2State): Checked => {
    const parsed = parseAs(schema, body);
    if (parsed.type === 'refused') return parsed;
    const reply = refusalOf(parsed.value, state);
    return reply ? refused(reply) : { type: 'accepted', request: parsed.value };
  };

  /** The aliases among the requests' that are reserved, and not for this account. */
  const reservedFor = async (
    requests: readonly ShortenRequest[],
    { key }: AdmittedCall,
  ): Promise<ReadonlySet<string>> => {
    const reserved = requests.flatMap(({ alias }) =>
      alias !== null && deps.findReservation(alias) !== null ? [alias] : [],
    );
    if (reserved.length === 0) return new Set();
    const accounts = await deps.overriddenFor(reserved.map((alias) => alias.toLowerCase()));
    return new Set(reserved.filter((alias) => accounts.get(alias.toLowerCase()) !== key.account));
  };

  const commandFor = (request: ShortenRequest, state: V2State): Ready['create'] => {
    const { alias, url, expiresIn, maxClicks } = request;
    const { key } = state.call;
    return {
      code: alias ?? deps.generateCode(),
      custom: alias !== null,
      url,
      expiresIn,
      maxClicks,
      keyId: key.id,
      account: key.account,
      requestId: state.requestId,
    };
  };

  return {
    linkLimitOf,
    /** One outcome for each item, in their order; their URLs are checked together. */
    async prepare(items: readonly unknown[], state: V2State): Promise<readonly Prepared[]> {
      const all = items.map((item) => checked(item, state));
      const accepted = all.flatMap((item) => (item.type === 'accepted' ? [item.request] : []));
      const verdicts = [...(await deps.safety.check(accepted.map(({ url }) => url)))];
      const forbidden = await reservedFor(accepted, state.call);
      return all.map((item): Prepared => {
        if (item.type === 'refused') return item;
        const { request } = item;
        const unsafe = safetyReplies[verdicts.shift() ?? 'unknown'];
        if (unsafe) return refused(unsafe);
        if (request.alias !== null && forbidden.has(request.alias)) {
          return refused(failure(400, messages.aliasReserved));
        }
        const create = commandFor(request, state);
        return { type: 'ready', create, password: request.password };
      });
    },
    /**
     * Hashes the passwords. Last, because hashing is expensive.
     *
     * @throws Overloaded
     */
    async complete(ready: readonly Ready[], call: AdmittedCall): Promise<readonly CreateLink[]> {
      const passwords = ready.flatMap(({ password }) => (password === null ? [] : [password]));
      const hashes = [...(await deps.passwords.hashAll(call.key.id, passwords))];
      return ready.map(({ create, password }) => {
        const passwordHash = password === null ? null : hashes.shift();
        if (passwordHash === undefined) throw new Error('A password was left unhashed');
        return { ...create, passwordHash };
      });
    },
    /** The replies to a single link that the ledger refused. */
    refusals: (call: AdmittedCall): Readonly<Record<ShortenRefusal, Reply>> => ({
      aliasTaken: failure(400, messages.aliasTaken),
      linksExhausted: linksExhausted(call),
    }),
  };
};
