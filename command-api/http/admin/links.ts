import { aliasOverrides } from '../../../ops/ledger/alias-overrides.js';
import { decideOne } from '../../../ops/ledger/decide.js';
import type { Actor } from '../../../schemas/decision.js';
import { messages } from '../../../schemas/http/errors.js';
import { historyQuery } from '../../../schemas/http/history.js';
import {
  aliasOverrideRequest,
  blockRequest,
  type BlockResponse,
} from '../../../schemas/http/operators.js';
import { shortCodePattern } from '../../../schemas/http/shorten.js';
import { decideAliasOverride, type SetAliasOverride } from '../../domain/alias-override.js';
import { createLinkBlockHandler } from '../../ledger/link-blocks.js';
import { findLinkHistory } from '../../reports/link-history.js';
import { failure, json } from '../reply.js';
import { withBody, withQuery, type AdminRoutes } from './requests.js';

/** Blocks, unblocks, and the history of a link. */
export const linkRoutes: AdminRoutes = ({ pool, outbox, settle }) => {
  const blocks = createLinkBlockHandler(pool, outbox);
  const blockOrUnblock = (type: 'BlockLink' | 'UnblockLink') =>
    withBody(blockRequest, async ({ reason }, { actor }, parameter) => {
      const shortCode = parameter('shortCode');
      const outcome = shortCodePattern.test(shortCode)
        ? await blocks.handle(shortCode, { type, reason }, actor)
        : 'notFound';
      if (outcome === 'notFound') return failure(404, messages.codeNotFound);
      const body: BlockResponse = { shortCode, blocked: type === 'BlockLink' };
      return settle(outcome, 200, body);
    });

  return [
    { method: 'POST', path: '/links/:shortCode/block', handler: blockOrUnblock('BlockLink') },
    { method: 'POST', path: '/links/:shortCode/unblock', handler: blockOrUnblock('UnblockLink') },
    {
      method: 'GET',
      path: '/links/:shortCode/history',
      handler: withQuery(historyQuery, async (query, parameter) => {
        const code = parameter('shortCode');
        const page = shortCodePattern.test(code)
          ? await findLinkHistory(pool, outbox, { ...query, code })
          : null;
        return page === null ? failure(404, messages.codeNotFound) : json(200, page);
      }),
    },
  ];
};

const noAlias = 'Alias must have 3 to 50 letters, numbers, hyphens and underscores';

export const overrideRoutes: AdminRoutes = ({ settle, ...ledger }) => {
  const path = '/reserved-aliases/:alias/override';
  const set = (command: SetAliasOverride, actor: Actor) =>
    decideOne(ledger, aliasOverrides, decideAliasOverride, {
      subject: command.alias,
      command,
      actor,
    });
  return [
    {
      method: 'PUT',
      path,
      handler: withBody(aliasOverrideRequest, async ({ account }, { actor }, parameter) => {
        const alias = parameter('alias').toLowerCase();
        if (!shortCodePattern.test(alias)) return failure(400, noAlias);
        const { receipt } = await set({ alias, account }, actor);
        return settle(receipt, 200, { alias, account });
      }),
    },
    {
      method: 'DELETE',
      path,
      handler: async (_ctx, { actor }, parameter) => {
        const command = { alias: parameter('alias').toLowerCase(), account: null };
        if (shortCodePattern.test(command.alias)) {
          const { decision, receipt } = await set(command, actor);
          if (decision.type === 'accepted') return settle(receipt, 200, command);
        }
        return failure(404, 'Override not found');
      },
    },
  ];
};
