import type { z } from 'zod';
import type { LinkDetails } from '../../../schemas/http/links.js';
import { afterMessage, type listLinksQuery } from '../../../schemas/http/list-links.js';
import { linkDetailsOf } from '../link-details.js';
import { readPlace, writePlace } from './link-query.js';
import { readClicksTaken } from '../clicks.js';
import { listLinks, type ListedLink } from './link-list.js';
import { areIncomplete } from '../../statistics/statistics.js';
import type { ManagedLinksDeps } from '../change/managed-links.js';
import { pageItems } from '../../http/page-items.js';
import { failure, json, type Reply } from '../../http/reply.js';
import { incompleteStats } from '../../statistics/route.js';

/** A list that somebody asks for. */
interface AskedList extends Readonly<z.output<typeof listLinksQuery>> {
  /** `null`: the links of all accounts. */
  readonly account: string | null;
}

/** Answers a page of links, of which those who ask are shown what `shown` makes of what their owners see. */
export const answerList = async (
  { pool, outbox, shortUrlHost }: Pick<ManagedLinksDeps, 'pool' | 'outbox' | 'shortUrlHost'>,
  { after: place, limit, ...query }: AskedList,
  now: Date,
  shown: (details: LinkDetails, listed: ListedLink) => LinkDetails,
): Promise<Reply> => {
  const after = place === undefined ? null : readPlace(place, query);
  if (place !== undefined && after === null) return failure(400, afterMessage);
  if (query.sort === 'clicks' && (await areIncomplete(pool))) return incompleteStats;
  const page = await listLinks(pool, outbox, { query, after, limit, now });
  const limited = page.links.filter(({ link }) => link.link.maxClicks !== null);
  const taken = await readClicksTaken(
    pool,
    limited.map(({ link }) => link.link.code),
  );
  const items = pageItems(
    page.links.map((listed) => {
      const { link, version, clicks } = listed;
      const clicksTaken = taken.get(link.link.code) ?? 0;
      const known = { version, clicks, clicksTaken, shortUrlHost, now };
      return shown(linkDetailsOf(link, known), listed);
    }),
  );
  const last = page.links[items.length - 1];
  const end = last && items.length < page.links.length ? last.place : page.next;
  const next = end && writePlace(end, query);
  return json(200, `{"links":[${items.join()}],"next":${JSON.stringify(next)}}`);
};
