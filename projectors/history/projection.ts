import { withoutSecrets } from '../../schemas/events/redact.js';
import { topics } from '../../schemas/events/topics.js';
import type { Projection } from '../runtime/projection.js';

/** What was done to each link, oldest first, for operators. Visits are no part of it. */
export const history: Projection = {
  name: 'history',
  topics: [topics.links.name],
  async apply(tx, schema, events) {
    await tx.query(
      `INSERT INTO ${schema}.events (code, sequence, event)
       SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[])`,
      [
        events.map(({ subject }) => subject),
        events.map(({ sequence }) => sequence),
        events.map((event) => JSON.stringify(withoutSecrets(event))),
      ],
    );
  },
};
