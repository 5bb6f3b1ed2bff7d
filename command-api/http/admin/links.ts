import type Router from '@koa/router';
import { z } from 'zod';
import { nothingRecorded } from '../../../ops/platform/outbox/port.js';
import { messages } from '../../../schemas/http/errors.js';
import {
  aliasOverrideRequest,
  blockRequest,
  type BlockResponse,
} from '../../../schemas/http/operators.js';
import { shortCodePattern } from '../../../schemas/http/shorten.js';
import type { LinkBlockCommand } from '../../domain/link-block.js';
import type { AliasOverrideHandler } from '../../ledger/alias-overrides.js';
import type { LinkBlockHandler } from '../../ledger/link-blocks.js';
import type { FindLinkHistory } from '../../reports/link-history.js';
import { failure, json } from '../reply.js';
import { route } from '../requests.js';
import { pageLimit, withBody, withQuery, type AdminState, type Settle } from './requests.js';

const afterMessage = 'after must be a number that next gave';

const historyQuery = z.object({
  after: z
    .string({ error: afterMessage })
    .regex(/^\d{1,15}$/, afterMessage)
    .transform(Number)
    .default(0),
  limit: pageLimit.default(1_000),
});

const calls = [
  { path: '/links/:shortCode/block', type: 'BlockLink' },
  { path: '/links/:shortCode/unblock', type: 'UnblockLink' },
] as const satisfies readonly { path: string; type: LinkBlockCommand['type'] }[];

/** Blocks, unblocks, and the history of a link. */
export const addLinkRoutes = (
  router: Router,
  handler: LinkBlockHandler,
  findHistory: FindLinkHistory,
  settle: Settle,
): void => {
  for (const { path, type } of calls) {
    router.post(
      path,
      route<AdminState>((ctx, { actor }, parameter) =>
        withBody(ctx, blockRequest, async ({ reason }) => {
          const shortCode = parameter('shortCode');
          const outcome = shortCodePattern.test(shortCode)
            ? await handler.handle(shortCode, { type, reason }, actor)
            : 'notFound';
          if (outcome === 'notFound') return failure(404, messages.codeNotFound);
          const body: BlockResponse = { shortCode, blocked: type === 'BlockLink' };
          return settle(outcome, 200, body);
        }),
      ),
    );
  }

  router.get(
    '/links/:shortCode/history',
    route((ctx, _state, parameter) =>
      withQuery(ctx, historyQuery, async ({ after, limit }) => {
        const code = parameter('shortCode');
        const page = shortCodePattern.test(code) ? await findHistory(code, after, limit) : null;
        return page ? json(200, page) : failure(404, messages.codeNotFound);
      }),
    ),
  );
};

const overridePath = '/reserved-aliases/:alias/override';
const noAlias = 'Alias must have 3 to 50 letters, numbers, hyphens and underscores';

/** PUT and DELETE /admin/reserved-aliases/:alias/override */
export const addOverrideRoutes = (
  router: Router,
  handler: AliasOverrideHandler,
  settle: Settle,
): void => {
  router.put(
    overridePath,
    route<AdminState>((ctx, { actor }, parameter) =>
      withBody(ctx, aliasOverrideRequest, async ({ account }) => {
        const alias = parameter('alias').toLowerCase();
        if (!shortCodePattern.test(alias)) return failure(400, noAlias);
        const receipt = await handler.set({ alias, account }, actor);
        return settle(receipt ?? nothingRecorded, 200, { alias, account });
      }),
    ),
  );
  router.delete(
    overridePath,
    route<AdminState>(async (_ctx, { actor }, parameter) => {
      const alias = parameter('alias').toLowerCase();
      const receipt = shortCodePattern.test(alias)
        ? await handler.set({ alias, account: null }, actor)
        : null;
      return receipt
        ? settle(receipt, 200, { alias, account: null })
        : failure(404, 'Override not found');
    }),
  );
};
