import { readOwnedDomains } from '../../ops/ledger/domains.js';
import { domainNameOf } from '../../schemas/domain-name.js';
import type { Domain } from '../../schemas/folds/domain.js';
import type { OperatorsDomain } from '../../schemas/http/domains.js';
import type { AdminHandlers } from '../http/operator-requests.js';
import { json, pageOf } from '../http/reply.js';
import { domainResponseOf } from './view.js';
import { countLinksOn, createDomainHandler, isPublicSuffix } from './handler.js';
import { invalidDomain, refusalReply, unknownDomain } from './route.js';

/** `/admin/domains`: domains without a DNS check. */
export const domainHandlers = (({ pool, outbox, isOwnName, respond }) => {
  const handler = createDomainHandler(pool, outbox);

  /** The domains that accounts have, or also claim. */
  const shown = async (
    domains: ReadonlyMap<string, Domain>,
    withClaims = false,
  ): Promise<OperatorsDomain[]> => {
    const owners = [...domains].flatMap(([domain, { owner }]) =>
      owner ? [{ domain, account: owner.account }] : [],
    );
    const links = await countLinksOn(pool, owners);
    const now = new Date();
    return [...domains].flatMap(([name, domain]) => {
      const { owner, claims } = domain;
      return [
        ...(owner ? [owner.account] : []),
        ...(withClaims ? Object.keys(claims) : []),
      ].flatMap((account) => {
        const count = account === owner?.account ? (links.get(name) ?? 0) : 0;
        const details = domainResponseOf(name, domain, account, count, now);
        return details ? [{ ...details, account }] : [];
      });
    });
  };

  return {
    async listDomains({ query: { after = '', limit, claims } }) {
      const withClaims = claims === '1';
      const found = await readOwnedDomains(pool, after, limit + 1, withClaims);
      const { page, next } = pageOf([...found], limit, ([name]) => name);
      return json(200, { domains: await shown(new Map(page), withClaims), next });
    },

    async addDomain({ body: { domain: name, account, caseInsensitive }, state }) {
      if (isOwnName(name) || (await isPublicSuffix(name))) return invalidDomain;
      const outcome = await handler.add(name, account, state.actor, caseInsensitive);
      if (outcome.type === 'refused') return refusalReply(outcome.refusal);
      const [added] = await shown(new Map([[name, outcome.domain]]));
      if (!added) throw new Error(`AddDomain left ${name} without an owner`);
      return respond(outcome.outboxPosition, outcome.changed ? 201 : 200, added);
    },

    async removeDomain({ state, parameter }) {
      const name = domainNameOf(parameter('domain'));
      if (name === null) return unknownDomain;
      const outcome = await handler.releaseFromOwner(name, state.actor);
      if (outcome.type === 'refused') return refusalReply(outcome.refusal);
      return respond(outcome.outboxPosition, 200, { domain: name, account: null });
    },
  };
}) satisfies AdminHandlers;
