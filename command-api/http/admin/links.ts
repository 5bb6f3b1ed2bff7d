import type Router from '@koa/router';
import { z } from 'zod';
import { messages } from '../../../schemas/http/errors.js';
import { blockRequest, type BlockResponse } from '../../../schemas/http/operators.js';
import { shortCodePattern } from '../../../schemas/http/shorten.js';
import type { LinkBlockCommand } from '../../domain/link-block.js';
import type { LinkBlockHandler } from '../../ledger/link-blocks.js';
import type { FindLinkHistory } from '../../reports/link-history.js';
import { failure, json } from '../reply.js';
import { route } from '../routing.js';
import type { AdminState } from './app.js';
import { pageLimit, withBody, withQuery } from './requests.js';
import type { Settle } from './settle.js';

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
