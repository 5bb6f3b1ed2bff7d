/** The statistics of some links of an account, as the sum of those of each link. */
import { setImmediate as nextIteration } from 'node:timers/promises';
import type { Outbox } from '../../ops/event-log/outbox/port.js';
import { readManyLinkStates } from '../../ops/ledger/link-states.js';
import type { Client } from '../../ops/platform/postgres/pool.js';
import { foldText } from '../../schemas/folded-text.js';
import type { Link } from '../../schemas/folds/link.js';
import type { StatisticsRequest } from '../../schemas/http/statistics.js';
import { readTables } from '../links/export/exports.js';
import type { AccountQuery } from '../links/list/link-query.js';
import { listAll } from '../links/list/link-list.js';
import { createPeriodSum, coverageOf, byClicks } from './breakdowns.js';
import { readRowsOfLinks } from './statistics.js';

/** Bounds of the work for one response. A day of a link takes about 10 µs, a KB of documents about 30 µs. */
export const bounds = {
  /** Links with a click in the period. */
  clicked: 10_000,
  links: 100_000,
  linkDays: 200_000,
  documentBytes: 2 ** 26,
  tags: 10_000,
  /** Values of a dimension; later ones count as `(other)`. */
  values: 5_000,
};

/** Rows of days that are read together, and milliseconds until other requests get the thread. */
const portion = { days: 300, links: 200, ms: 5 };

type Links = AsyncIterable<readonly Link[]>;

/** The links that match the filter now, except deleted ones. */
export async function* matchingLinks(
  tx: Client,
  outbox: Outbox,
  account: string,
  { filter, domain }: StatisticsRequest,
): Links {
  const query: AccountQuery = {
    ...{ account, sort: 'created' as const, tz: 'UTC', tag: [], ...filter },
    ...(domain !== null && { domain: domain === '' ? null : domain }),
  };
  for await (const listed of listAll(tx, outbox, { query, now: new Date() }, portion.links)) {
    yield listed.map(({ link }) => link.link);
  }
}

/** The current states of links, except deleted ones. */
export async function* existingLinks(
  tx: Client,
  outbox: Outbox,
  subjects: readonly string[],
): Links {
  for (let at = 0; at < subjects.length; at += portion.links) {
    const states = await readManyLinkStates(tx, outbox, subjects.slice(at, at + portion.links));
    yield [...states.values()].flatMap(({ state }) =>
      state.status === 'none' || state.status === 'deleted' ? [] : [state.link],
    );
  }
}

/** Sums up the statistics of links, with yields to the event loop. Must be called in a snapshot. */
export const sumLinks = async (
  tx: Client,
  request: StatisticsRequest,
  links: Links,
  { clicked, links: maxLinks, linkDays: maxLinkDays, ...others } = bounds,
) => {
  const tables = await readTables(tx);
  const { period, include, limit } = request;
  const sum = createPeriodSum(period, others.values);
  const clicksOf = new Map<string, number>();
  const clicksByTag = new Map<string, number>();
  /** The newest link of each tag, which determines its spelling. */
  const spellings = new Map<string, { readonly tag: string; readonly createdAt: string }>();
  let [linkCount, clickCount, importedClicks, linkDays, bytes] = [0, 0, 0, 0, 0];
  const [firstDay, end] = coverageOf(period).days;
  const size = Math.max(20, Math.floor(portion.days / (end - firstDay)));
  let pauseAt = performance.now() + portion.ms;
  const yieldIfDue = async (): Promise<void> => {
    if (performance.now() < pauseAt) return;
    await nextIteration();
    pauseAt = performance.now() + portion.ms;
  };
  for await (const found of links) {
    linkCount += found.length;
    for (let at = 0; at < found.length; at += size) {
      const some = found.slice(at, at + size);
      const rows = await readRowsOfLinks(
        tx,
        some.map(({ subject }) => subject),
        request,
      );
      for (const row of rows) {
        const added = sum.add(row);
        if (added > 0) clicksOf.set(row.owner, (clicksOf.get(row.owner) ?? 0) + added);
        clickCount += row.allClicks ?? 0;
        importedClicks += row.imported ?? 0;
        if (row.day !== null && row.allClicks === null) linkDays += 1;
        bytes += row.document?.length ?? 0;
        await yieldIfDue();
      }
      if (!include.has('tags')) continue;
      for (const { subject, tags, createdAt } of some) {
        const clicks = clicksOf.get(subject) ?? 0;
        for (const tag of clicks === 0 ? [] : tags) {
          const folded = foldText(tag);
          if (createdAt > (spellings.get(folded)?.createdAt ?? '')) {
            spellings.set(folded, { tag, createdAt });
          }
          clicksByTag.set(folded, (clicksByTag.get(folded) ?? 0) + clicks);
          await yieldIfDue();
        }
      }
    }
    const isTooMuch =
      clicksOf.size > clicked ||
      linkCount > maxLinks ||
      linkDays > maxLinkDays ||
      clicksByTag.size > others.tags ||
      bytes > others.documentBytes;
    if (isTooMuch) return 'tooManyClickedLinks';
  }
  // The snapshot shows no rows of tables that a rebuild has created since.
  if ((await readTables(tx)) !== tables) return 'incomplete';
  const values = byClicks(clicksByTag)
    .slice(0, limit)
    .map(({ value, clicks }) => ({ value: spellings.get(value)?.tag ?? value, clicks }));
  return {
    stats: {
      ...{ linkCount, clickCount },
      ...sum.statsOf(include, limit, null),
      ...(importedClicks > 0 && { importedClicks }),
      ...(include.has('tags') && { tags: { overlapping: true as const, values } }),
    },
    topLinks: byClicks(clicksOf)
      .slice(0, limit)
      .map(({ value, clicks }) => ({ subject: value, clicks })),
  };
};
