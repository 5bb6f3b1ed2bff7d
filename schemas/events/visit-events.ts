import { z } from 'zod';
import { eventType } from './event-type.js';

/**
 * Subject: the short code. A visitor was answered with a redirect. What a library judges of a
 * visitor is judged before the event is written and stands in it, so that a fold of it years later
 * gives the same rows.
 */
export const LinkVisited = eventType({
  name: 'LinkVisited',
  topic: 'visits',
  version: 1,
  data: z.strictObject({
    /** Its number among the clicks of a link with a limit; `null` for a link without one. */
    click: z.int().min(1).nullable(),
    /** A crawler or a link previewer, by its own account: counted apart. */
    bot: z.boolean(),
  }),
});
