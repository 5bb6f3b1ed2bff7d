import { type Destinations } from '../../schemas/http/link-fields.js';
import type { Outbox, OutboxDelivery } from '../../ops/event-log/outbox/port.js';
import { readDomains, readDomainsOf } from '../../ops/ledger/domains.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { ResolverUnavailable, type TxtLookup } from '../../ops/platform/networks/dns.js';
import { domainNameOf } from '../../schemas/domain-name.js';
import type { Domain } from '../../schemas/folds/domain.js';
import { messages } from '../../schemas/http/errors.js';
import { firstPlanWithDomains } from '../../schemas/plans.js';
import { type PlanDeps, type V2State, planRefusal } from '../admission/admitted-call.js';
import {
  failure,
  json,
  noContent,
  pageOf,
  unavailable,
  whenPublished,
  type Reply,
} from '../http/reply.js';
import { actorOf, type V2Handlers } from '../http/row-handlers.js';
import { checkGroups, type SafetyCheck, safetyResponses } from '../safety/safety-check.js';
import { claimLifeMs, liveClaim, type DomainRefusal } from './command.js';
import { domainResponseOf, recordNameOf } from './view.js';
import {
  countLinksOn,
  createDomainHandler,
  isPublicSuffix,
  type DomainOutcome,
} from './handler.js';

export interface DomainDeps extends PlanDeps {
  readonly pool: Pool;
  readonly outbox: Outbox;
  readonly delivery: OutboxDelivery;
  readonly safety: SafetyCheck;
  readonly destinations: Destinations;
  /** Whether a name is that of the installation itself. */
  readonly isOwnName: (name: string) => boolean;
  readonly txtRecords: TxtLookup;
}

/** A host may have many TXT records at a name (64 KiB at most); all are compared, and the response has the first ones. */
const maxReportedValues = 20;

export const unknownDomain = failure(404, messages.domainNotFound);

export const invalidDomain = failure(400, messages.domainInvalid);

export const refusalReply = (refusal: DomainRefusal): Reply => {
  switch (refusal.type) {
    case 'notFound':
      return unknownDomain;
    case 'belongsToAnother':
      return failure(409, messages.domainOfAnother);
    case 'hasLinks':
      return failure(409, messages.domainHasLinks);
    case 'recordMissing':
      return {
        ...failure(409, messages.domainUnverified),
        found: refusal.found.slice(0, maxReportedValues),
      };
    case 'caseFixed':
      return failure(409, messages.domainCaseFixed);
    case 'domainsExhausted':
      return failure(400, `At most ${refusal.limit} domains on this plan`);
    default: {
      const unknown: never = refusal;
      return unknown;
    }
  }
};

/** The values of the TXT record; `null` if no DNS server answers. */
const readRecord = async (
  txtRecords: TxtLookup,
  domain: string,
): Promise<readonly string[] | null> => {
  try {
    return await txtRecords(recordNameOf(domain));
  } catch (error) {
    if (error instanceof ResolverUnavailable) return null;
    throw error;
  }
};

/** `/v2/domains`. */
export const createDomainHandlers = (deps: DomainDeps) => {
  const { pool, outbox, delivery, plans, upgradeUrl, txtRecords } = deps;
  const handler = createDomainHandler(pool, outbox);

  /** The domains of the account, as it sees them. */
  const shown = async (domains: ReadonlyMap<string, Domain>, { call }: V2State) => {
    const { account } = call.key;
    const owners = [...domains.keys()].map((domain) => ({ domain, account }));
    const links = await countLinksOn(pool, owners);
    return [...domains].flatMap(
      ([name, domain]) =>
        domainResponseOf(name, domain, account, links.get(name) ?? 0, call.now) ?? [],
    );
  };

  /** The domain that a path names, as the account sees it. */
  const find = async (parameter: (name: string) => string) => {
    const name = domainNameOf(parameter('domain'));
    const domain = name === null ? undefined : (await readDomains(pool, [name])).get(name);
    return name === null || !domain ? null : { name, domain };
  };

  const respond = (
    outcome: DomainOutcome,
    respondTo: (done: Extract<DomainOutcome, { readonly type: 'done' }>) => Promise<Reply> | Reply,
  ): Promise<Reply> | Reply => {
    if (outcome.type === 'refused') return refusalReply(outcome.refusal);
    return whenPublished(delivery, outcome.outboxPosition, () => respondTo(outcome));
  };

  const withDomain = async (
    status: 200 | 201,
    name: string,
    domain: Domain,
    state: V2State,
  ): Promise<Reply> => {
    const [found] = await shown(new Map([[name, domain]]), state);
    return found ? json(status, found) : unknownDomain;
  };

  return {
    async claimDomain({ body: { domain: name, caseInsensitive }, state }) {
      if (deps.isOwnName(name) || (await isPublicSuffix(name))) return invalidDomain;
      const { key } = state.call;
      const limit = plans.plans[key.plan].domains;
      const needed = firstPlanWithDomains(plans);
      if (limit === 0 && needed !== null) {
        const message = `Custom domains require the ${needed} plan or higher.`;
        return planRefusal('customDomain', message, key.plan, upgradeUrl);
      }
      const actor = actorOf(state);
      const outcome = await handler.claim(name, key.account, limit, actor, caseInsensitive);
      return respond(outcome, ({ changed, domain }) =>
        withDomain(changed ? 201 : 200, name, domain, state),
      );
    },

    async verifyDomain({ state, parameter }) {
      const found = await find(parameter);
      if (!found) return unknownDomain;
      const { name, domain } = found;
      const { call, uncounted } = state;
      const { account } = call.key;
      // Without a claim, or if another account has the domain, the answer does not depend on the record.
      const isOpen = !domain.owner && liveClaim(domain, account, call.now) !== null;
      const values = isOpen ? await uncounted(readRecord(txtRecords, name)) : [];
      if (values === null) return unavailable(messages.resolverUnavailable);
      const outcome = await handler.verify(name, account, values, actorOf(state));
      return respond(outcome, (done) => withDomain(200, name, done.domain, state));
    },

    async getDomains({ query: { limit, after = '' }, state }) {
      const { key, now } = state.call;
      const claimedAfter = new Date(now.getTime() - claimLifeMs);
      const bounds = { after, limit: limit + 1, claimedAfter };
      const found = await readDomainsOf(pool, key.account, bounds);
      const { page, next } = pageOf([...found], limit, ([name]) => name);
      return json(200, { domains: await shown(new Map(page), state), next });
    },

    async getDomain({ state, parameter }) {
      const found = await find(parameter);
      return found ? withDomain(200, found.name, found.domain, state) : unknownDomain;
    },

    async changeDomain({ body, state, parameter }) {
      const { key } = state.call;
      const found = await find(parameter);
      if (found?.domain.owner?.account !== key.account) return unknownDomain;
      const urls = Object.values(body).filter((url) => typeof url === 'string');
      const [verdict = 'safe'] = await state.uncounted(
        checkGroups(deps.safety, [urls], state.call.key.rootId),
      );
      const unsafe = safetyResponses[verdict];
      if (unsafe) return unsafe;
      const outcome = await handler.change(found.name, key.account, body, actorOf(state));
      return respond(outcome, ({ domain }) => withDomain(200, found.name, domain, state));
    },

    async releaseDomain({ state, parameter }) {
      const name = domainNameOf(parameter('domain'));
      if (name === null) return unknownDomain;
      const { account } = state.call.key;
      return respond(await handler.release(name, account, actorOf(state)), () => noContent());
    },
  } satisfies Partial<V2Handlers>;
};
