import { messages } from '../../../schemas/http/errors.js';
import { changeLinkRequest } from '../../../schemas/http/links.js';
import {
  createManagedLinks,
  type LinkCaller,
  type VersionedLink,
  type WantedChange,
} from './managed-links.js';
import { withAccount } from '../link-details.js';
import { failure, json, type Reply } from '../../http/reply.js';
import { etagOf, ifMatch } from './if-match.js';
import { withBody, type AdminRoutes, type AdminState } from '../../http/operator-requests.js';

const callerOf = ({ actor, uncounted }: AdminState): LinkCaller => ({
  actor,
  account: null,
  hashingLane: 'operators',
  readsLinks: true,
  uncounted,
});

/** GET, PATCH and DELETE of `/admin/links/:shortCode`: for all accounts, without plan features and switches. */
export const managedLinkRoutes: AdminRoutes = (deps) => {
  const links = createManagedLinks(deps);
  const path = '/links/:shortCode';

  const detailed = async (status: 200 | 202, found: VersionedLink): Promise<Reply> => {
    const [details] = await links.details([found], new Date());
    if (!details) throw new Error('Details are due');
    return json(status, withAccount(details, found), { ETag: etagOf(found.version) });
  };

  /** A change takes effect also while the log is away: 202. */
  const settle = async (wanted: WantedChange, state: AdminState): Promise<Reply> => {
    const [outcome] = await links.change([wanted], callerOf(state));
    if (!outcome) throw new Error('An outcome is due');
    if (outcome.type === 'refused') return outcome.reply;
    return detailed(outcome.logged ? 200 : 202, outcome);
  };

  return [
    {
      method: 'GET',
      path,
      handler: async (_ctx, _state, parameter) => {
        const found = await links.find(parameter('shortCode'), null);
        return found ? detailed(200, found) : failure(404, messages.codeNotFound);
      },
    },
    {
      method: 'PATCH',
      path,
      handler: withBody(changeLinkRequest(deps.isOwnHost), (change, state, parameter, ctx) => {
        const versions = ifMatch(ctx.headers['if-match']);
        return settle({ code: parameter('shortCode'), versions, change }, state);
      }),
    },
    {
      method: 'DELETE',
      path,
      handler: (ctx, state, parameter) => {
        const versions = ifMatch(ctx.headers['if-match']);
        return settle({ code: parameter('shortCode'), versions, change: 'delete' }, state);
      },
    },
  ];
};
