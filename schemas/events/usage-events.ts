import { z } from 'zod';
import { timestamp } from './envelope.js';
import { defineEvents } from './event-type.js';

/** Subject: the key's id. */
export const usageEvents = defineEvents('usage', {
  /** The metered calls of one key in one minute, or a part of them. */
  CallsMetered: {
    version: 1,
    data: z.strictObject({
      /** The minute's first moment; its month is the month that the calls count in. */
      minute: timestamp,
      calls: z.int().min(1),
    }),
  },
  QrRendered: { version: 1, data: z.strictObject({ code: z.string() }) },
});
