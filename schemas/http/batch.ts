import { z } from 'zod';
import { generalError, monthlyLimitError, planError } from './errors.js';
import { linkResponse } from './shorten.js';

const sizeMessage = 'urls must contain between 1 and 50 items';

/** The body of POST /v2/shorten/batch; each item is checked as a body of POST /v2/shorten is. */
export const batchRequest = z.object(
  {
    urls: z
      .array(z.unknown(), { error: sizeMessage })
      .min(1, sizeMessage)
      .max(50, sizeMessage)
      .describe('Each a body of `POST /v2/shorten`; one that is none fails by itself.'),
  },
  { error: sizeMessage },
);

const place = z.object({ index: z.int().min(0).max(49) });
const failed = place.extend({
  success: z.literal(false),
  url: z.string().nullable().describe('As it was sent; `null` where it was no text.'),
});

const batchResult = z.union([
  place.extend({ success: z.literal(true) }).extend(linkResponse.shape),
  failed.extend(generalError.pick({ statusCode: true, message: true, reason: true }).shape),
  failed.extend(planError.shape),
  failed.extend(monthlyLimitError.shape),
]);
export type BatchResult = z.infer<typeof batchResult>;

export const batchResponse = z.object({ results: z.array(batchResult) });
export type BatchResponse = z.infer<typeof batchResponse>;
