import { type listLinksQuery, afterMessage } from '../../../schemas/http/list-links.js';
import { withNamedDomain } from '../addressed-link.js';
import type { V2Handler } from '../../http/row-handlers.js';
import type { ManagedLinksDeps } from '../change/managed-links.js';
import type { z } from 'zod';
import { firstWithin } from '../../../ops/platform/collections.js';
import type { LinkDetails } from '../../../schemas/http/links.js';
import { linkDetailsOf } from '../view.js';
import { readCursor, writeCursor } from './link-query.js';
import { noDailyClicks, readClicksTaken, readDailyClicks } from '../clicks.js';
import { countLinks, listLinks, type ListedLink } from './link-list.js';
import { areIncomplete } from '../../statistics/statistics.js';
import { failure, json, type Reply } from '../../http/reply.js';
import { createSums, incompleteStats } from '../../statistics/route.js';
import { maxPageBytes } from '../../../schemas/http/paging.js';

/** Bytes of a page without its items, which commas separate. */
const frameBytes = 1_000;

interface ListRequest extends Omit<z.output<typeof listLinksQuery>, 'domain'> {
  /** `null`: the default domain. */
  readonly domain?: string | null | undefined;
  /** `null`: the links of all accounts. */
  readonly account: string | null;
}

/** A count takes up to 0.3 s of PostgreSQL. If two more of the account wait, the number is unknown. */
const counts = createSums(2);
/** A count that waits longer for those of other accounts is not made (ms), because the page has 2 s. */
const maxWaitMs = 500;

/** The response with a page of links. @param toItem converts the details that the owner sees */
export const respondWithList = async (
  { pool, outbox, shortUrlHost }: Pick<ManagedLinksDeps, 'pool' | 'outbox' | 'shortUrlHost'>,
  { after: cursor, limit, count, dailyClicks, ...query }: ListRequest,
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
  const subjects = page.links.map(({ link }) => link.link.subject);
  const hasDays = dailyClicks !== undefined && !(await areIncomplete(pool));
  const daily = hasDays ? await readDailyClicks(pool, subjects, now) : null;
  const texts = page.links.map((listed) => {
    const { link, version, clicks } = listed;
    const { subject } = link.link;
    const clicksTaken = taken.get(subject) ?? 0;
    const known = { version, clicks, clicksTaken, shortUrlHost, now };
    const days = daily && { dailyClicks: daily.get(subject) ?? noDailyClicks() };
    return JSON.stringify(toItem({ ...linkDetailsOf(link, known), ...days }, listed));
  });
  const items = firstWithin(
    texts,
    maxPageBytes - frameBytes,
    (text) => Buffer.byteLength(text) + 1,
  );
  const last = page.links[items.length - 1];
  const end = last && items.length < page.links.length ? last.cursor : page.next;
  const next = end && writeCursor(end, query);
  const startsBy = performance.now() + maxWaitMs;
  const countAll = async () =>
    performance.now() > startsBy ? null : countLinks(pool, { query, now });
  const number = count === undefined ? null : await counts(query.account ?? '', countAll);
  const counted = count === undefined ? '' : `,"count":${number === 'tooManySums' ? null : number}`;
  return json(200, `{"links":[${items.join()}],"next":${JSON.stringify(next)}${counted}}`);
};

/** `GET /v2/links`. */
export const createListHandler =
  (deps: ManagedLinksDeps): V2Handler<'listLinks'> =>
  ({ query: { dailyClicks, ...query }, state }) => {
    const { key, now } = state.call;
    const request = {
      ...withNamedDomain(query, state),
      account: key.account,
      dailyClicks: key.scopes.includes('stats:read') ? dailyClicks : undefined,
    };
    return respondWithList(deps, request, now, (details) => details);
  };
