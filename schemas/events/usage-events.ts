import { z } from 'zod';
import { timestamp } from './envelope.js';
import { eventType } from './event-type.js';

/** Subject: the key's id. The metered calls of one key in one minute, or a part of them. */
export const CallsMetered = eventType({
  name: 'CallsMetered',
  topic: 'usage',
  version: 1,
  data: z.strictObject({
    /** The minute's first moment; its month is the month that the calls count in. */
    minute: timestamp,
    calls: z.int().min(1),
  }),
});

/** Subject: the key's id. */
export const QrRendered = eventType({
  name: 'QrRendered',
  topic: 'usage',
  version: 1,
  data: z.strictObject({ code: z.string() }),
});
