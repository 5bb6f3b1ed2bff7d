import { type Destinations } from '../../../schemas/http/link-fields.js';
import { customAlphabet } from 'nanoid';
import { findActiveDomains, type ActiveDomains } from '../../../ops/ledger/active-domains.js';
import { findTaken } from '../../../ops/ledger/links.js';
import type { PasswordHasher } from '../../../ops/platform/passwords/password-hasher.js';
import type { Pool } from '../../../ops/platform/postgres/pool.js';
import type { CommandRequest } from '../../../schemas/decision.js';
import { edgeRoutes } from '../../../schemas/edge-routes.js';
import { topics } from '../../../schemas/events/topics.js';
import { messages } from '../../../schemas/http/errors.js';
import {
  batchItemRequest,
  shortenRequest,
  type ShortenRequest,
} from '../../../schemas/http/shorten.js';
import { codeOn, subjectOf, type IgnoresCase } from '../../../schemas/link-subject.js';
import { urlsOf } from '../../../schemas/link-options.js';
import type { AdmittedCall } from '../../admission/command.js';
import type { Scope } from '../../../schemas/scopes.js';
import type { PlatformSwitches } from '../../../schemas/folds/platform.js';
import { alphabetOf, type CodeLengths } from './code-lengths.js';
import type { CreateLink, GenerateCode, ShortenRefusal } from './command.js';
import type { ShortenCommand } from './handler.js';
import { createFindForbidden } from '../../aliases/forbidden-aliases.js';
import { namedDomain } from '../addressed-link.js';
import { checkGroups, safetyResponses } from '../../safety/safety-check.js';
import type { WebSafety } from '../../safety/web-safety.js';
import { failure, unavailable, type Reply } from '../../http/reply.js';
import { actorIn, type RequestCause } from '../../http/request-actor.js';
import { parseAs, refusedWith, type Read, type Refused } from '../../http/requests.js';
import {
  monthlyLimitReached,
  scopeRefusal,
  type PlanDeps,
  type V2State,
  gateRefusal,
} from '../../admission/admitted-call.js';

const links = topics.links.name;

const edgeRouteNames = new Set(edgeRoutes);

const domainInactive = failure(400, messages.domainInactive);

const logUnavailable = unavailable(messages.logUnavailable);

/** Codes that are generated for a link to find one whose partition accepts events: enough for one of eight partitions. */
const maxCodes = 100;

const mixedCode = customAlphabet(alphabetOf(false));
const lowerCode = customAlphabet(alphabetOf(true));

/** Generates codes of a length for a domain. The ledger detects a collision. */
export const codeGenerator =
  (ignoresCase: IgnoresCase): GenerateCode =>
  (length, domain) =>
    (ignoresCase(domain) ? lowerCode : mixedCode)(length);

/** Generates a subject whose partition accepts events. */
export const newSubject = (
  generateCode: GenerateCode,
  domain: string | null,
  length: number,
  { stalled }: Pick<RequestContext, 'stalled'>,
): string => {
  let subject = subjectOf({ domain, code: generateCode(length, domain) });
  for (let count = 1; count < maxCodes && stalled.includes(links, subject); count += 1) {
    subject = subjectOf({ domain, code: generateCode(length, domain) });
  }
  return subject;
};

export interface LinkRequestDeps extends PlanDeps {
  readonly pool: Pool;
  readonly destinations: Destinations;
  readonly safety: Pick<WebSafety, 'check' | 'safeBrowsing' | 'recheckers'>;
  readonly passwords: Pick<PasswordHasher, 'hashAll'>;
  readonly activeDomains: ActiveDomains;
  readonly codeLengths: CodeLengths;
}

/** A checked request, without the hash of its password. */
export interface ReadyRequest {
  readonly type: 'ready';
  readonly create: CommandRequest<CreateLink>;
  readonly password: string | null;
}

type RequestContext = Pick<V2State, 'call' | 'platform' | 'stalled'> & RequestCause;

/** A request before the checks of switches, plan and quota, which need the admitted call. */
interface CheckedRequest {
  readonly parsed: Read<ShortenRequest>;
  /** The refusal by web safety or the reserved list, after those of switches, plan and quota; `null`: none. */
  readonly refusal: Reply | null;
}

/** A request without alias, domain, password and `reuse`, checked before its call is admitted. */
interface PlainRequest extends CheckedRequest {
  readonly scope: Scope | null;
  readonly state: RequestCause & Pick<V2State, 'keyHash' | 'stalled'>;
}

const aliasSubjectOf = ({ alias, domain }: ShortenRequest): readonly string[] =>
  alias === null ? [] : [subjectOf({ domain, code: alias })];

/** The common part of POST /v2/shorten and of the items of a batch. */
export const createLinkRequests = (deps: LinkRequestDeps) => {
  const { plans } = deps;
  const ignoresCase: IgnoresCase = (domain) => deps.activeDomains.ignoresCase(domain);
  const generateCode = codeGenerator(ignoresCase);
  const schema = shortenRequest(deps.destinations);
  const itemSchema = batchItemRequest(deps.destinations);
  const findForbidden = createFindForbidden(deps.pool);

  const linkLimitOf = (call: AdmittedCall): number | null =>
    plans.plans[call.key.plan].monthlyLinks;

  const linksExhausted = (call: AdmittedCall): Reply =>
    monthlyLimitReached(messages.linksExhausted, linkLimitOf(call), call, deps);

  /** The refusal by switches, plan and quota, in the contract's order, or `null`. */
  const refusalOf = (request: ShortenRequest, state: RequestContext): Reply | null => {
    const refusal = gateRefusal(request, state, deps);
    // A reused link costs nothing.
    if (refusal !== null || request.reuse) return refusal;
    const { call } = state;
    const limit = linkLimitOf(call);
    return limit !== null && call.usage.links >= limit ? linksExhausted(call) : null;
  };

  /** The refusal of an alias whose partition is stalled, or `null`. */
  const stalledRefusal = (
    { alias, domain }: ShortenRequest,
    { stalled }: RequestContext,
  ): Reply | null =>
    alias !== null && stalled.includes(links, subjectOf({ domain, code: alias }))
      ? logUnavailable
      : null;

  const checked = (
    parsed: Read<ShortenRequest>,
    active: ReadonlySet<string>,
    state: V2State,
  ): Read<ShortenRequest> => {
    if (parsed.type === 'refused') return parsed;
    const { domain, alias: sent } = parsed.value;
    const alias = sent === null ? null : codeOn(domain, sent, ignoresCase);
    const value = { ...parsed.value, alias };
    const reply =
      domain !== null && !active.has(domain)
        ? domainInactive
        : (refusalOf(value, state) ?? stalledRefusal(value, state));
    return reply ? refusedWith(reply) : { type: 'read', value };
  };

  const readyRequest = (
    { parsed, refusal }: CheckedRequest,
    state: RequestContext,
  ): ReadyRequest | Refused => {
    if (parsed.type === 'refused') return parsed;
    const reply = refusalOf(parsed.value, state) ?? refusal;
    if (reply) return refusedWith(reply);
    const { alias, domain, password, ...fields } = parsed.value;
    const { key } = state.call;
    const data = {
      ...fields,
      ...{ custom: alias !== null, passwordHash: null },
      ...{ keyId: key.rootId, account: key.account },
    };
    const metadata = actorIn(state, key.id);
    const subject =
      alias === null
        ? newSubject(generateCode, domain, deps.codeLengths.next(domain, key.plan), state)
        : subjectOf({ domain, code: alias });
    return {
      type: 'ready',
      create: { type: 'CreateLink', subject, data, metadata },
      password,
    };
  };

  /** The command of a plain request whose call was admitted, or its refusal. Pure. */
  const plainCommand = (
    { scope, state, ...request }: PlainRequest,
    call: AdmittedCall,
    platform: PlatformSwitches,
  ): Read<ShortenCommand> => {
    const lacking = scopeRefusal(scope, call);
    if (lacking) return refusedWith(lacking);
    const ready = readyRequest(request, { call, platform, ...state });
    if (ready.type === 'refused') return ready;
    const { keyHash } = state;
    const links = [ready.create];
    const linkLimit = linkLimitOf(call);
    return { type: 'read', value: { keyHash, linkLimit, links, idempotency: null } };
  };

  return {
    /** The schema of POST /v2/shorten. */
    schema,
    itemSchema,
    generateCode,
    linkLimitOf,
    /** Checks a request as far as possible without its key; `null` if it needs the ledger, a service or a hash. */
    async plain(
      body: Read<unknown>,
      scope: Scope | null,
      state: PlainRequest['state'],
    ): Promise<PlainRequest | null> {
      const parsed: Read<ShortenRequest> =
        body.type === 'read' ? parseAs(schema, body.value) : body;
      if (parsed.type === 'refused') return { parsed, refusal: null, scope, state };
      const { alias, domain, password, reuse } = parsed.value;
      const isPlain = alias === null && domain === null && password === null && !reuse;
      if (!isPlain || deps.safety.safeBrowsing) return null;
      const checking = checkGroups(deps.safety, [urlsOf(parsed.value)]);
      const [[verdict]] = await Promise.all([checking, deps.codeLengths.load(null)]);
      return { parsed, refusal: safetyResponses[verdict ?? 'unknown'], scope, state };
    },
    plainCommand,
    /** One outcome per item, in their order. Their URLs are checked together. */
    async prepare(
      items: readonly unknown[],
      state: V2State,
      bodySchema: typeof schema | typeof itemSchema,
    ): Promise<readonly (ReadyRequest | Refused)[]> {
      const parsed = items.map((item): Read<ShortenRequest> => {
        const request = parseAs(bodySchema, item);
        if (request.type === 'refused') return request;
        const domain = namedDomain(request.value.domain, state);
        return { type: 'read', value: { ...request.value, domain } };
      });
      const valid = parsed.flatMap((item) => (item.type === 'read' ? [item.value] : []));
      const { account } = state.call.key;
      const domains = [...new Set(valid.flatMap(({ domain }) => domain ?? []))];
      const active = await findActiveDomains(deps, account, domains);
      const requests = parsed.map((item) => checked(item, active, state));
      const accepted = requests.flatMap((item) => (item.type === 'read' ? [item.value] : []));
      const aliases = accepted.flatMap(({ alias, domain }) =>
        alias !== null && domain === null ? [alias] : [],
      );
      const generated = accepted.flatMap(({ alias, domain }) => (alias === null ? [domain] : []));
      for (const domain of new Set(generated)) await deps.codeLengths.load(domain);
      const [forbidden, taken] = await Promise.all([
        findForbidden(aliases, account),
        findTaken(deps.pool, accepted.flatMap(aliasSubjectOf)),
      ]);
      // On other domains, only the routes of the edge are reserved.
      const isReserved = ({ alias, domain }: ShortenRequest): boolean =>
        alias !== null && (domain === null ? forbidden : edgeRouteNames).has(alias);
      // A link that the ledger will refuse needs no look-up at Safe Browsing.
      const isRefused = (request: ShortenRequest): boolean =>
        isReserved(request) || aliasSubjectOf(request).some((subject) => taken.has(subject));
      const destinationsIf = (refused: boolean) =>
        accepted.map((request) => (isRefused(request) === refused ? urlsOf(request) : []));
      const ofRefused = await checkGroups(deps.safety.recheckers.blocklist, destinationsIf(true));
      const { rootId } = state.call.key;
      const checking = checkGroups(deps.safety, destinationsIf(false), rootId);
      // The check has its own deadline.
      const others = await state.uncounted(checking);
      const verdicts = accepted.map((request, index) =>
        isRefused(request) ? ofRefused[index] : others[index],
      );
      const aliasReserved = failure(400, messages.aliasReserved);
      return requests.map((item) => {
        const isRead = item.type === 'read';
        const unsafe = isRead ? safetyResponses[verdicts.shift() ?? 'unknown'] : null;
        const refusal = unsafe ?? (isRead && isReserved(item.value) ? aliasReserved : null);
        return readyRequest({ parsed: item, refusal }, state);
      });
    },
    /** Hashes the passwords. Last, because hashing is expensive. @throws Overloaded */
    async complete(
      ready: readonly ReadyRequest[],
      { call, uncounted }: V2State,
    ): Promise<readonly CommandRequest<CreateLink>[]> {
      const passwords = ready.flatMap(({ password }) => (password === null ? [] : [password]));
      const hashes = [...(await uncounted(deps.passwords.hashAll(call.key.rootId, passwords)))];
      return ready.map(({ create, password }) => {
        const passwordHash = password === null ? null : hashes.shift();
        if (passwordHash === undefined)
          throw new Error(`hashAll() returned too few hashes for ${passwords.length} passwords`);
        return { ...create, data: { ...create.data, passwordHash } };
      });
    },
    /** The replies to a refused single link. */
    refusals: (call: AdmittedCall): Readonly<Record<ShortenRefusal, Reply>> => ({
      domainInactive,
      aliasTaken: failure(400, messages.aliasTaken),
      linksExhausted: linksExhausted(call),
    }),
  };
};
