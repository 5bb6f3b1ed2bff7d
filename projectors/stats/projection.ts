import type { Client } from '../../ops/platform/postgres/pool.js';
import type { EventNamed, LinklogEvent } from '../../schemas/events/catalogue.js';
import { topics } from '../../schemas/events/topics.js';

import type { Projection, ProjectionSchema } from '../runtime/projection.js';

interface Clicks {
  clicks: number;
  bots: number;
  lastAccessed: string | null;
}

const insertLinks = async (
  tx: Client,
  schema: ProjectionSchema,
  events: readonly EventNamed<'LinkCreated'>[],
): Promise<void> => {
  if (events.length === 0) return;
  await tx.query(
    `INSERT INTO ${schema}.links (code, url, account, created_at, expires_at, max_clicks)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[],
       $5::timestamptz[], $6::integer[])
     ON CONFLICT (code) DO NOTHING`,
    [
      events.map(({ subject }) => subject),
      events.map(({ data }) => data.url),
      events.map(({ account }) => account ?? 'default'),
      events.map(({ time }) => time),
      events.map(({ data }) => data.expiresAt),
      events.map(({ data }) => data.maxClicks),
    ],
  );
};

/** What the visits add to each code. */
const countVisits = (visits: readonly EventNamed<'LinkVisited'>[]): Map<string, Clicks> => {
  const counts = new Map<string, Clicks>();
  for (const { subject, time, data } of visits) {
    let count = counts.get(subject);
    if (!count) counts.set(subject, (count = { clicks: 0, bots: 0, lastAccessed: null }));
    if (data.bot) {
      count.bots += 1;
    } else {
      count.clicks += 1;
      // Timestamps have one fixed form, so they compare as strings.
      if (count.lastAccessed === null || time > count.lastAccessed) count.lastAccessed = time;
    }
  }
  return counts;
};

const addClicks = async (
  tx: Client,
  schema: ProjectionSchema,
  visits: readonly EventNamed<'LinkVisited'>[],
): Promise<void> => {
  if (visits.length === 0) return;
  const counts = countVisits(visits);
  const values = [...counts.values()];
  await tx.query(
    `INSERT INTO ${schema}.clicks AS c (code, clicks, bots, last_accessed)
     SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::timestamptz[])
     ON CONFLICT (code) DO UPDATE SET
       clicks = c.clicks + excluded.clicks,
       bots = c.bots + excluded.bots,
       last_accessed = greatest(c.last_accessed, excluded.last_accessed)`,
    [
      [...counts.keys()],
      values.map(({ clicks }) => clicks),
      values.map(({ bots }) => bots),
      values.map(({ lastAccessed }) => lastAccessed),
    ],
  );
};

const isCreation = (event: LinklogEvent): event is EventNamed<'LinkCreated'> =>
  event.type === 'linklog.LinkCreated.v1';

const isVisit = (event: LinklogEvent): event is EventNamed<'LinkVisited'> =>
  event.type === 'linklog.LinkVisited.v1';

/** What is known of each link's clicks, for its owner. A link's record outlives the link. */
export const stats: Projection = {
  name: 'stats',
  topics: [topics.links.name, topics.visits.name],
  async apply(tx, schema, events) {
    await insertLinks(tx, schema, events.filter(isCreation));
    await addClicks(tx, schema, events.filter(isVisit));
  },
};
