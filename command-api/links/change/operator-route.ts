import { warningOf } from '../../../schemas/http/link-options.js';
import type { OptionFields } from '../../../schemas/link-options.js';
import { messages } from '../../../schemas/http/errors.js';
import {
  createManagedLinks,
  type LinkCaller,
  type VersionedLink,
  type RequestedChange,
} from './managed-links.js';
import { addressedLink, etagOf, ifMatch } from '../addressed-link.js';
import { withAccount } from '../view.js';
import { failure, json, type Reply } from '../../http/reply.js';
import type { AdminHandlers, AdminState } from '../../http/operator-requests.js';

const callerOf = ({ actor, uncounted }: AdminState): LinkCaller => ({
  actor,
  account: null,
  rootId: null,
  readsLinks: true,
  uncounted,
});

/** GET, PATCH and DELETE of `/admin/links/:shortCode`, without checks of plan features and switches. */
export const managedLinkHandlers = ((deps) => {
  const links = createManagedLinks(deps);

  const detailed = async (
    status: 200 | 202,
    found: VersionedLink,
    change: OptionFields = {},
  ): Promise<Reply> => {
    const [details] = await links.details([found], new Date());
    if (!details) throw new Error('details() returned no link for 1 link');
    return json(
      status,
      { ...withAccount(details, found), ...warningOf(change) },
      { ETag: etagOf(found.version) },
    );
  };

  /** Changes a link. While the log is unavailable, the change takes effect and gets 202. */
  const applyChange = async (change: RequestedChange, state: AdminState): Promise<Reply> => {
    const [outcome] = await links.change([change], callerOf(state));
    if (!outcome) throw new Error('change() returned no outcome for 1 change');
    if (outcome.type === 'refused') return outcome.reply;
    const set = change.change === 'delete' ? {} : change.change;
    return detailed(outcome.published ? 200 : 202, outcome, set);
  };

  return {
    async getLink({ ctx, parameter }) {
      const subject = await addressedLink(deps, ctx, parameter);
      if (subject.type === 'refused') return subject.reply;
      const found = await links.find(subject.value, null);
      return found ? detailed(200, found) : failure(404, messages.codeNotFound);
    },

    async changeLink({ ctx, body: change, state, parameter }) {
      const subject = await addressedLink(deps, ctx, parameter);
      if (subject.type === 'refused') return subject.reply;
      const versions = ifMatch(ctx.headers['if-match']);
      return applyChange({ subject: subject.value, versions, change }, state);
    },

    async deleteLink({ ctx, state, parameter }) {
      const subject = await addressedLink(deps, ctx, parameter);
      if (subject.type === 'refused') return subject.reply;
      const versions = ifMatch(ctx.headers['if-match']);
      return applyChange({ subject: subject.value, versions, change: 'delete' }, state);
    },
  };
}) satisfies AdminHandlers;
