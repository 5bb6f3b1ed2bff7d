import { foldText } from '../../../schemas/folded-text.js';
import { listTagsQuery } from '../../../schemas/http/tags.js';
import type { V2State } from '../../admission/admitted-call.js';
import { json } from '../../http/reply.js';
import { parseQuery, type Handler } from '../../http/requests.js';
import { areIncomplete } from '../../statistics/statistics.js';
import { incompleteStats } from '../../statistics/route.js';
import type { ManagedLinksDeps } from '../change/managed-links.js';
import { listTags } from './tags.js';

/** `GET /v2/tags`. */
export const createTagsHandler =
  ({ pool }: Pick<ManagedLinksDeps, 'pool'>): Handler<V2State> =>
  async (ctx, { call }) => {
    const query = parseQuery(listTagsQuery, ctx);
    if (query.type === 'refused') return query.reply;
    if (await areIncomplete(pool)) return incompleteStats;
    const { limit, after = '', search = '' } = query.value;
    const { account } = call.key;
    return json(
      200,
      await listTags(pool, { account, prefix: search, after: foldText(after), limit }),
    );
  };
