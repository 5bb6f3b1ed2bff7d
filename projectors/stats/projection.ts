import type { Client } from '../../ops/platform/postgres/pool.js';
import type { EventNamed, LinklogEvent } from '../../schemas/events/catalogue.js';
import { topics } from '../../schemas/events/topics.js';
import type { Projection, ProjectionSchema } from '../runtime/projection.js';

const addClicks = async (
  tx: Client,
  schema: ProjectionSchema,
  visits: readonly EventNamed<'LinkVisited'>[],
): Promise<void> => {
  if (visits.length === 0) return;
  await tx.query({
    name: `stats-add-${schema}`,
    text: `INSERT INTO ${schema}.clicks AS c (code, clicks, bots, last_accessed)
     SELECT code, count(*) FILTER (WHERE NOT bot), count(*) FILTER (WHERE bot),
       max(visited_at) FILTER (WHERE NOT bot)
     FROM unnest($1::text[], $2::boolean[], $3::timestamptz[]) AS v (code, bot, visited_at)
     GROUP BY code
     ON CONFLICT (code) DO UPDATE SET
       clicks = c.clicks + excluded.clicks,
       bots = c.bots + excluded.bots,
       last_accessed = greatest(c.last_accessed, excluded.last_accessed)`,
    values: [
      visits.map(({ subject }) => subject),
      visits.map(({ data }) => data.bot),
      visits.map(({ time }) => time),
    ],
  });
};

const isVisit = (event: LinklogEvent): event is EventNamed<'LinkVisited'> =>
  event.type === 'linklog.LinkVisited.v2';

/** The clicks of each link that was visited, for its owner. */
export const stats: Projection = {
  name: 'stats',
  topics: [topics.visits.name],
  apply: (tx, schema, events) => addClicks(tx, schema, events.filter(isVisit)),
};
