import { linkOfSubject } from '../../../schemas/link-subject.js';
import { messages } from '../../../schemas/http/errors.js';
import { blockRequest, type BlockResponse } from '../../../schemas/http/operators.js';
import { withBody, type AdminRoutes } from '../../http/operator-requests.js';
import { failure } from '../../http/reply.js';
import { addressedLink } from '../addressed-link.js';
import { createLinkBlockHandler } from './handler.js';

/** `POST /admin/links/:shortCode/block` and `…/unblock`. */
export const blockRoutes: AdminRoutes = ({ pool, outbox, respond }) => {
  const blocks = createLinkBlockHandler(pool, outbox);
  const blockOrUnblock = (type: 'BlockLink' | 'UnblockLink') =>
    withBody(blockRequest, async ({ reason }, { actor }, parameter, ctx) => {
      const subject = addressedLink(ctx, parameter);
      if (subject.type === 'refused') return subject.reply;
      const outcome = await blocks.handle(subject.value, { type, reason }, actor);
      if (outcome === 'notFound') return failure(404, messages.codeNotFound);
      const body: BlockResponse = {
        shortCode: linkOfSubject(subject.value).code,
        blocked: type === 'BlockLink',
      };
      return respond(outcome, 200, body);
    });

  return [
    { method: 'POST', path: '/links/:shortCode/block', handler: blockOrUnblock('BlockLink') },
    { method: 'POST', path: '/links/:shortCode/unblock', handler: blockOrUnblock('UnblockLink') },
  ];
};
