import { listLinksQuery, afterMessage } from '../../../schemas/http/list-links.js';
import type { V2State } from '../../admission/admitted-call.js';
import { parseQuery, type Handler } from '../../http/requests.js';
import type { ManagedLinksDeps } from '../change/managed-links.js';
import type { z } from 'zod';
import { firstWithin } from '../../../ops/platform/first-within.js';
import type { LinkDetails } from '../../../schemas/http/links.js';
import { linkDetailsOf } from '../view.js';
import { readCursor, writeCursor } from './link-query.js';
import { readClicksTaken } from '../clicks.js';
import { countLinks, listLinks, type ListedLink } from './link-list.js';
import { areIncomplete } from '../../statistics/statistics.js';
import { failure, json, type Reply } from '../../http/reply.js';
import { incompleteStats } from '../../statistics/route.js';
import { maxPageBytes } from '../../../schemas/http/paging.js';

/** Bytes of a page without its items, which commas separate. */
const frameBytes = 1_000;

interface ListRequest extends Readonly<z.output<typeof listLinksQuery>> {
  /** `null`: the links of all accounts. */
  readonly account: string | null;
}

/** The response with a page of links. @param toItem converts the details that the owner sees */
export const respondWithList = async (
  { pool, outbox, shortUrlHost }: Pick<ManagedLinksDeps, 'pool' | 'outbox' | 'shortUrlHost'>,
  { after: cursor, limit, count, ...query }: ListRequest,
  now: Date,
  toItem: (details: LinkDetails, listed: ListedLink) => LinkDetails,
): Promise<Reply> => {
  const after = cursor === undefined ? null : readCursor(cursor, query);
  if (cursor !== undefined && after === null) return failure(400, afterMessage);
  if (query.sort === 'clicks' && (await areIncomplete(pool))) return incompleteStats;
  const page = await listLinks(pool, outbox, { query, after, limit, now });
  const limited = page.links.filter(({ link }) => link.link.maxClicks !== null);
  const taken = await readClicksTaken(
    pool,
    limited.map(({ link }) => link.link.subject),
  );
  const texts = page.links.map((listed) => {
    const { link, version, clicks } = listed;
    const clicksTaken = taken.get(link.link.subject) ?? 0;
    const known = { version, clicks, clicksTaken, shortUrlHost, now };
    return JSON.stringify(toItem(linkDetailsOf(link, known), listed));
  });
  const items = firstWithin(
    texts,
    maxPageBytes - frameBytes,
    (text) => Buffer.byteLength(text) + 1,
  );
  const last = page.links[items.length - 1];
  const end = last && items.length < page.links.length ? last.cursor : page.next;
  const next = end && writeCursor(end, query);
  const counted =
    count === undefined ? '' : `,"count":${JSON.stringify(await countLinks(pool, { query, now }))}`;
  return json(200, `{"links":[${items.join()}],"next":${JSON.stringify(next)}${counted}}`);
};

/** `GET /v2/links`. */
export const createListHandler =
  (deps: ManagedLinksDeps): Handler<V2State> =>
  async (ctx, { call }) => {
    const query = parseQuery(listLinksQuery, ctx);
    if (query.type === 'refused') return query.reply;
    const { account } = call.key;
    return respondWithList(deps, { ...query.value, account }, call.now, (details) => details);
  };
