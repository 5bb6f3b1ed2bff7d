import { setTimeout as sleep } from 'node:timers/promises';
import { findActiveDomains, type ActiveDomains } from '../../../ops/ledger/active-domains.js';
import type { LedgerClock } from '../../../ops/ledger/clock.js';
import { only } from '../../../ops/platform/collections.js';
import { edgeRoutes } from '../../../schemas/edge-routes.js';
import { maxCodes } from '../../../schemas/folds/link.js';
import { messages } from '../../../schemas/http/errors.js';
import { subjectIn } from '../../../schemas/http/link-address.js';
import { codeOn, subjectOf } from '../../../schemas/link-subject.js';
import {
  gateRefusal,
  keyInvalid,
  monthlyLimitReached,
  type PlanDeps,
  type V2State,
} from '../../admission/admitted-call.js';
import { createFindForbidden } from '../../aliases/forbidden-aliases.js';
import {
  failure,
  json,
  noContent,
  unavailable,
  whenPublished,
  type Reply,
} from '../../http/reply.js';
import { actorOf, type V2Handlers } from '../../http/row-handlers.js';
import { addressedLink, etagOf, namedDomain } from '../addressed-link.js';
import { createManagedLinks, type ManagedLinksDeps } from '../change/managed-links.js';
import { callerOf } from '../change/route.js';
import { goneResponses } from '../view.js';
import type { CodeRefusal } from './command.js';
import { createCodeLedger } from './handler.js';

interface CodeDeps extends ManagedLinksDeps, PlanDeps {
  readonly clock: LedgerClock;
  readonly activeDomains: ActiveDomains;
}

/** POST /v2/links/:shortCode/codes and DELETE …/codes/:code */
export const createCodeHandlers = (deps: CodeDeps) => {
  const { pool, delivery, plans } = deps;
  const links = createManagedLinks(deps);
  const ledger = createCodeLedger(deps);
  const findForbidden = createFindForbidden(pool);

  const replyTo = (refusal: CodeRefusal['type'], { call }: V2State): Reply => {
    const limit = plans.plans[call.key.plan].monthlyLinks;
    const replies: Readonly<Record<CodeRefusal['type'], Reply>> = {
      notFound: failure(404, messages.codeNotFound),
      deleted: goneResponses.deleted,
      tooManyCodes: failure(400, `A link has at most ${maxCodes} further codes`),
      firstCode: failure(400, 'The first code of a link cannot be removed'),
      domainInactive: failure(400, messages.domainInactive),
      linksExhausted: monthlyLimitReached(messages.linksExhausted, limit, call, deps),
      aliasTaken: failure(400, messages.aliasTaken),
    };
    return replies[refusal];
  };

  return {
    async addCode({ body, ctx, state, parameter }) {
      const domain = namedDomain(body.domain, state);
      const { key, usage } = state.call;
      const { account } = key;
      const linkLimit = plans.plans[key.plan].monthlyLinks;
      const refusal = gateRefusal(body, state, deps);
      if (refusal) return refusal;
      if (linkLimit !== null && usage.links >= linkLimit) return replyTo('linksExhausted', state);
      const names = domain === null ? [] : [domain];
      const active = await findActiveDomains(deps, account, names);
      if (domain !== null && !active.has(domain)) return replyTo('domainInactive', state);
      const alias = codeOn(domain, body.alias, state.ignoresCase);
      // On other domains, only the routes of the edge are reserved.
      const forbidden =
        domain === null ? await findForbidden([alias], account) : new Set(edgeRoutes);
      if (forbidden.has(alias)) return failure(400, messages.aliasReserved);
      const addressed = await addressedLink(deps, ctx, parameter);
      if (addressed.type === 'refused') return addressed.reply;
      const code = subjectOf({ domain, code: alias });
      const added = await ledger.add({
        ...{ subject: addressed.value, code, account, linkLimit },
        ...{ keyHash: state.keyHash, actor: actorOf(state) },
      });
      if (added === null) return keyInvalid;
      if (added === 'aliasTaken') return replyTo(added, state);
      const { decision, state: link, outboxPosition } = added;
      if (decision.type === 'refused') return replyTo(decision.refusal.type, state);
      if (link.current.status === 'none' || link.ledger.status === 'none') return unavailable();
      const changed = { link: link.current, version: link.ledger.sequence };
      if (added.liveIn > 0) await sleep(added.liveIn);
      return whenPublished(delivery, outboxPosition, async () => {
        const shown = only(await links.changed([changed], callerOf(state), state.call.now));
        return json(201, shown, { ETag: etagOf(changed.version) });
      });
    },

    async removeCode({ ctx, state, parameter }) {
      const addressed = await addressedLink(deps, ctx, parameter);
      if (addressed.type === 'refused') return addressed.reply;
      const code = subjectIn(parameter('code'), state.defaultDomain, state.ignoresCase);
      if (code === null) return replyTo('notFound', state);
      const { account } = state.call.key;
      const removed = await ledger.remove(addressed.value, code, account, actorOf(state));
      if (removed.decision.type === 'refused') return replyTo(removed.decision.refusal.type, state);
      return whenPublished(delivery, removed.outboxPosition, () => noContent());
    },
  } satisfies Partial<V2Handlers>;
};
