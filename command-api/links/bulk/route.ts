import { linksWithCodes } from '../../../ops/ledger/codes.js';
import { EventLoopShare } from '../../../ops/platform/concurrency/periodic.js';
import { shortCodesMessage, type BulkResult, versionsMessage } from '../../../schemas/http/bulk.js';
import { messages } from '../../../schemas/http/errors.js';
import {
  createManagedLinks,
  type ManagedLinksDeps,
  type RequestedChange,
} from '../change/managed-links.js';
import { subjectIn } from '../../../schemas/http/link-address.js';
import { failure, itemErrorOf, json, unavailable, type Reply } from '../../http/reply.js';
import type { V2Handler } from '../../http/row-handlers.js';
import { monthlyLimitReached, type PlanDeps } from '../../admission/admitted-call.js';
import { callerOf } from '../change/route.js';

/**
 * POST /v2/links/bulk: one change of many links, each decided separately. It costs one call per link: the request itself
 * and additional calls, reserved together. Links beyond the monthly quota are refused.
 */
export const createBulkHandler = (deps: ManagedLinksDeps & PlanDeps): V2Handler<'changeLinks'> => {
  const links = createManagedLinks(deps);

  return async ({ body: { shortCodes, versions, change: requested }, state }) => {
    const { delete: deletes, restore: restores, ...edit } = requested;
    const change = deletes ? 'delete' : restores ? 'restore' : edit;
    const { call } = state;
    if (versions && versions.length !== shortCodes.length) return failure(400, versionsMessage);

    const { defaultDomain, ignoresCase } = state;
    const named = shortCodes.map((address) => subjectIn(address, defaultDomain, ignoresCase));
    const codes = named.filter((subject) => subject !== null);
    const known = await linksWithCodes(deps.pool, codes);
    if (new Set(known).size < known.length) return failure(400, shortCodesMessage);

    const { granted, resetDate } = await state.reserveCalls(shortCodes.length - 1);
    const paid = shortCodes.slice(0, 1 + granted);
    const { monthlyCalls } = deps.plans.plans[call.key.plan];
    const unpaid = monthlyLimitReached(
      messages.callsExhausted,
      monthlyCalls,
      { ...call, usage: { ...call.usage, resetDate } },
      deps,
    );

    const caller = callerOf(state);
    const linkOf = new Map(codes.map((code, index) => [code, known[index] ?? code]));
    const subjects = named
      .map((code) => (code === null ? null : (linkOf.get(code) ?? code)))
      .slice(0, paid.length);
    const changes = subjects.flatMap((subject, index): readonly RequestedChange[] => {
      const version = versions?.[index];
      return subject === null
        ? []
        : [{ subject, versions: version === undefined ? null : [version], change }];
    });
    const decided = [...(await links.change(changes, caller))];
    const unknown = { type: 'refused', reply: failure(404, messages.codeNotFound) } as const;
    const outcomes = subjects.map((subject) => (subject === null ? unknown : decided.shift()));
    const done = outcomes.filter((outcome) => outcome?.type === 'done');
    if (done.some(({ published }) => !published)) return unavailable(messages.logUnavailable);
    const shown = [...(await links.changed(done, caller, call.now))];

    const failed = (index: number, shortCode: string, reply: Reply) =>
      ({ index, success: false, shortCode, ...itemErrorOf(reply) }) as BulkResult;
    const results = shortCodes.map((shortCode, index): BulkResult => {
      const outcome = outcomes[index];
      if (!outcome) return failed(index, shortCode, unpaid);
      if (outcome.type === 'refused') return failed(index, shortCode, outcome.reply);
      const changed = shown.shift();
      if (!changed) throw new Error(`changed() returned no link for ${shortCode}`);
      return { index, success: true, ...changed };
    });
    // 100 links have up to 6 MB.
    const share = new EventLoopShare();
    const texts: string[] = [];
    for (const result of results) {
      texts.push(JSON.stringify(result));
      if (share.isUsedUp) await share.renew();
    }
    return json(200, `{"results":[${texts.join()}]}`);
  };
};
