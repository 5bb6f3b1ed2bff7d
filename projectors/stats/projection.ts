import type { Client } from '../../ops/platform/postgres/pool.js';
import type { EventNamed, LinklogEvent } from '../../schemas/events/catalogue.js';
import { topics } from '../../schemas/events/topics.js';
import type { Projection, ProjectionSchema } from '../runtime/projection.js';

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

const addClicks = async (
  tx: Client,
  schema: ProjectionSchema,
  visits: readonly EventNamed<'LinkVisited'>[],
): Promise<void> => {
  if (visits.length === 0) return;
  await tx.query(
    `INSERT INTO ${schema}.clicks AS c (code, clicks, bots, last_accessed)
     SELECT code, count(*) FILTER (WHERE NOT bot), count(*) FILTER (WHERE bot),
       max(visited_at) FILTER (WHERE NOT bot)
     FROM unnest($1::text[], $2::boolean[], $3::timestamptz[]) AS v (code, bot, visited_at)
     GROUP BY code
     ON CONFLICT (code) DO UPDATE SET
       clicks = c.clicks + excluded.clicks,
       bots = c.bots + excluded.bots,
       last_accessed = greatest(c.last_accessed, excluded.last_accessed)`,
    [
      visits.map(({ subject }) => subject),
      visits.map(({ data }) => data.bot),
      visits.map(({ time }) => time),
    ],
  );
};

const isCreation = (event: LinklogEvent): event is EventNamed<'LinkCreated'> =>
  event.type === 'linklog.LinkCreated.v1';

const isVisit = (event: LinklogEvent): event is EventNamed<'LinkVisited'> =>
  event.type === 'linklog.LinkVisited.v2';

/** Each link's clicks, for its owner. A link's row outlives the link. */
export const stats: Projection = {
  name: 'stats',
  topics: [topics.links.name, topics.visits.name],
  async apply(tx, schema, events) {
    await insertLinks(tx, schema, events.filter(isCreation));
    await addClicks(tx, schema, events.filter(isVisit));
  },
  // A link's row is inserted once, so a repeat of its events changes nothing.
  sequences: { [topics.links.name]: () => Promise.resolve(new Map()) },
};
