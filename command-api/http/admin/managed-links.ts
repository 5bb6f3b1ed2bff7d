import { listAllLinksQuery, type OperatorsLink } from '../../../schemas/http/operators.js';
import { messages } from '../../../schemas/http/errors.js';
import { changeLinkRequest, type LinkDetails } from '../../../schemas/http/links.js';
import {
  createManagedLinks,
  type LinkCaller,
  type VersionedLink,
  type WantedChange,
} from '../managed-links.js';
import { answerList } from '../link-lists.js';
import { failure, json, type Reply } from '../reply.js';
import { etagOf, ifMatch } from '../v2/if-match.js';
import { withBody, withQuery, type AdminRoutes, type AdminState } from './requests.js';

const callerOf = ({ actor, uncounted }: AdminState): LinkCaller => ({
  actor,
  account: null,
  hashingLane: 'operators',
  readsLinks: true,
  uncounted,
});

const withAccount = (
  details: LinkDetails,
  { link }: Pick<VersionedLink, 'link'>,
): OperatorsLink => ({
  ...details,
  account: link.link.account,
});

/** What owners do with their links, with those of all accounts: no plan and no switch refuses it. */
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
      path: '/links',
      handler: withQuery(listAllLinksQuery, ({ account = null, ...asked }) =>
        answerList(deps, { ...asked, account }, new Date(), withAccount),
      ),
    },
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
        const isMeant = ifMatch(ctx.headers['if-match']);
        return settle({ code: parameter('shortCode'), isMeant, change }, state);
      }),
    },
    {
      method: 'DELETE',
      path,
      handler: (ctx, state, parameter) => {
        const isMeant = ifMatch(ctx.headers['if-match']);
        return settle({ code: parameter('shortCode'), isMeant, change: 'delete' }, state);
      },
    },
  ];
};
