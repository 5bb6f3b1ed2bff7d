import { z } from 'zod';
import { feedEvent } from './events.js';
import { pageLimit } from './paging.js';

const afterMessage = 'after must be a number that next gave';

/** The query of a link's history. */
export const historyQuery = z.object({
  after: z
    .string({ error: afterMessage })
    .regex(/^\d{1,15}$/, afterMessage)
    .transform(Number)
    .pipe(z.int().min(0))
    .default(0)
    .describe('The `next` of the previous page.'),
  limit: pageLimit.default(1_000),
});

/** CloudEvents, oldest first. */
export const historyResponse = z.object({
  events: z.array(feedEvent),
  /** The `after` of the next page; `null` at the end. */
  next: z.int().nullable(),
  actorNames: z
    .record(z.string(), z.string())
    .describe('The current names of the keys among the actors, by id.'),
});
export type HistoryResponse = z.infer<typeof historyResponse>;
