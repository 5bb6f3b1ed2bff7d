import { z } from 'zod';
import { pageLimit } from './paging.js';

const afterMessage = 'after must be a number that next gave';

/** The query of a link's history, as the owner and as operators ask for it. */
export const historyQuery = z.object({
  after: z
    .string({ error: afterMessage })
    .regex(/^\d{1,15}$/, afterMessage)
    .transform(Number)
    .pipe(z.int().min(0))
    .default(0)
    .describe('The `next` of the page before.'),
  limit: pageLimit.default(1_000),
});

/** CloudEvents, oldest first; what they hold is as it came. */
export const historyResponse = z.object({
  events: z.array(
    z.looseObject({
      type: z.string(),
      time: z.string(),
      actor: z.string().optional(),
      data: z.looseObject({}),
    }),
  ),
  /** What to ask for next as `after`; `null` at the end. */
  next: z.int().nullable(),
});
export type HistoryResponse = z.infer<typeof historyResponse>;
