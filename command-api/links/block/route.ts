import { linkOfSubject } from '../../../schemas/link-subject.js';
import { messages } from '../../../schemas/http/errors.js';
import type { BlockResponse } from '../../../schemas/http/operators.js';
import type { AdminHandlers, OperatorHandler } from '../../http/operator-requests.js';
import { failure } from '../../http/reply.js';
import { addressedLink } from '../addressed-link.js';
import { createLinkBlockHandler } from './handler.js';

/** `POST /admin/links/:shortCode/block` and `…/unblock`. */
export const blockHandlers = (({ pool, outbox, respond }) => {
  const blocks = createLinkBlockHandler(pool, outbox);
  const blockOrUnblock =
    (type: 'BlockLink' | 'UnblockLink'): OperatorHandler<'blockLink' | 'unblockLink'> =>
    async ({ ctx, body: { reason }, state, parameter }) => {
      const subject = await addressedLink({ pool }, ctx, parameter);
      if (subject.type === 'refused') return subject.reply;
      const outcome = await blocks.handle(subject.value, { type, reason }, state.actor);
      if (outcome === 'notFound') return failure(404, messages.codeNotFound);
      const response: BlockResponse = {
        shortCode: linkOfSubject(subject.value).code,
        blocked: type === 'BlockLink',
      };
      return respond(outcome, 200, response);
    };
  return { blockLink: blockOrUnblock('BlockLink'), unblockLink: blockOrUnblock('UnblockLink') };
}) satisfies AdminHandlers;
