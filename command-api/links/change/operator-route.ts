import { only } from '../../../ops/platform/collections.js';
import { warningOf } from '../../../schemas/http/link-options.js';
import type { OptionFields } from '../../../schemas/link-options.js';
import { messages } from '../../../schemas/http/errors.js';
import { createManagedLinks, type VersionedLink, type RequestedChange } from './managed-links.js';
import { callerOf } from './route.js';
import { addressedLink, etagOf, ifMatch } from '../addressed-link.js';
import { withAccount } from '../view.js';
import { failure, json, type Reply } from '../../http/reply.js';
import type { AdminHandlers, OperatorHandler } from '../../http/operator-requests.js';

type LinkRequest = Pick<Parameters<OperatorHandler<'getLink'>>[0], 'ctx' | 'parameter' | 'state'>;

/** GET, PATCH, DELETE and restore of `/admin/links/:shortCode`, without checks of plan features and switches. */
export const managedLinkHandlers = ((deps) => {
  const links = createManagedLinks(deps);

  const detailed = async (
    status: 200 | 202,
    found: VersionedLink,
    change: OptionFields = {},
  ): Promise<Reply> => {
    const details = withAccount(only(await links.details([found], new Date())), found);
    return json(status, { ...details, ...warningOf(change) }, { ETag: etagOf(found.version) });
  };

  /** Changes a link. While the log is unavailable, the change takes effect and gets 202. */
  const applyChange = async (
    { ctx, parameter, state }: LinkRequest,
    change: RequestedChange['change'],
  ): Promise<Reply> => {
    const subject = await addressedLink(deps, ctx, parameter);
    if (subject.type === 'refused') return subject.reply;
    const requested = {
      subject: subject.value,
      versions: ifMatch(ctx.headers['if-match']),
      change,
    };
    const outcome = only(await links.change([requested], callerOf(state)));
    if (outcome.type === 'refused') return outcome.reply;
    return detailed(
      outcome.published ? 200 : 202,
      outcome,
      typeof change === 'string' ? {} : change,
    );
  };

  return {
    async getLink({ ctx, parameter }) {
      const subject = await addressedLink(deps, ctx, parameter);
      if (subject.type === 'refused') return subject.reply;
      const found = await links.find(subject.value, null);
      return found ? detailed(200, found) : failure(404, messages.codeNotFound);
    },

    changeLink: (request) => applyChange(request, request.body),
    deleteLink: (request) => applyChange(request, 'delete'),
    restoreLink: (request) => applyChange(request, 'restore'),
  };
}) satisfies AdminHandlers;
