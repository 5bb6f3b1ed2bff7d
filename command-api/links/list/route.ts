import { listLinksQuery } from '../../../schemas/http/list-links.js';
import type { V2State } from '../../admission/admitted-call.js';
import { parseQuery, type Handler } from '../../http/requests.js';
import type { ManagedLinksDeps } from '../change/managed-links.js';
import { respondWithList } from './page.js';

/** `GET /v2/links`. */
export const createListHandler =
  (deps: ManagedLinksDeps): Handler<V2State> =>
  async (ctx, { call }) => {
    const query = parseQuery(listLinksQuery, ctx);
    if (query.type === 'refused') return query.reply;
    const { account } = call.key;
    return respondWithList(deps, { ...query.value, account }, call.now, (details) => details);
  };
