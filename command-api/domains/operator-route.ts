import { readOwnedDomains } from '../../ops/ledger/domains.js';
import { domainNameOf } from '../../schemas/domain-name.js';
import type { Domain } from '../../schemas/folds/domain.js';
import {
  addDomainRequest,
  domainPageQuery,
  type OperatorsDomain,
} from '../../schemas/http/domains.js';
import { withBody, withQuery, type AdminRoutes } from '../http/operator-requests.js';
import { json } from '../http/reply.js';
import { domainResponseOf } from './view.js';
import { countLinksOn, createDomainHandler, isPublicSuffix } from './handler.js';
import { invalidDomain, refusalReply, unknownDomain } from './route.js';

/** `/admin/domains`: domains without a DNS check. */
export const domainRoutes: AdminRoutes = ({ pool, outbox, isOwnName, respond }) => {
  const handler = createDomainHandler(pool, outbox);

  /** The domains that accounts have. */
  const shown = async (domains: ReadonlyMap<string, Domain>): Promise<OperatorsDomain[]> => {
    const owners = [...domains].flatMap(([domain, { owner }]) =>
      owner ? [{ domain, account: owner.account }] : [],
    );
    const links = await countLinksOn(pool, owners);
    const now = new Date();
    return [...domains].flatMap(([name, domain]) => {
      const { account } = domain.owner ?? {};
      if (account === undefined) return [];
      const details = domainResponseOf(name, domain, account, links.get(name) ?? 0, now);
      return details ? [{ ...details, account }] : [];
    });
  };

  return [
    {
      method: 'GET',
      path: '/domains',
      handler: withQuery(domainPageQuery, async ({ after = '', limit }) => {
        const found = await readOwnedDomains(pool, after, limit + 1);
        const page = new Map([...found].slice(0, limit));
        const next = found.size > limit ? ([...page.keys()].at(-1) ?? null) : null;
        return json(200, { domains: await shown(page), next });
      }),
    },
    {
      method: 'POST',
      path: '/domains',
      handler: withBody(addDomainRequest, async ({ domain: name, account }, { actor }) => {
        if (isOwnName(name) || (await isPublicSuffix(name))) return invalidDomain;
        const outcome = await handler.add(name, account, actor);
        if (outcome.type === 'refused') return refusalReply(outcome.refusal);
        const [added] = await shown(new Map([[name, outcome.domain]]));
        if (!added) throw new Error(`AddDomain left ${name} without an owner`);
        return respond(outcome.outboxPosition, outcome.changed ? 201 : 200, added);
      }),
    },
    {
      method: 'DELETE',
      path: '/domains/:domain',
      handler: async (_ctx, { actor }, parameter) => {
        const name = domainNameOf(parameter('domain'));
        if (name === null) return unknownDomain;
        const outcome = await handler.releaseFromOwner(name, actor);
        if (outcome.type === 'refused') return refusalReply(outcome.refusal);
        return respond(outcome.outboxPosition, 200, { domain: name, account: null });
      },
    },
  ];
};
