import { z } from 'zod';
import { named, request, responseParts } from '../components.js';
import { listOf } from '../list-of.js';

import { generalError, monthlyLimitError, planError } from './errors.js';
import { linkResponse } from './shorten.js';

const sizeMessage = 'urls must contain between 1 and 50 items';

/** The body of POST /v2/shorten/batch. Items are validated separately, as bodies of POST /v2/shorten. */
export const batchRequest = request('BatchRequest', sizeMessage, {
  urls: listOf(z.unknown(), { min: 1, max: 50, error: sizeMessage }).meta({
    description: 'Bodies of `POST /v2/shorten`. An invalid item fails separately.',
    // For the document.
    items: { $ref: '#/components/schemas/ShortenRequest' },
  }),
});

const success = 'Whether the link was created.';
const item = z.object({
  index: z.int().min(0).max(49).describe('The position in `urls`, from 0.'),
});
const failed = item.extend({
  success: z.literal(false).describe(success),
  url: z.string().nullable().describe('As sent; `null` if it was not a string.'),
});

const batchResult = z
  .union([
    item.extend({ success: z.literal(true).describe(success) }).extend(linkResponse.shape),
    failed.extend(generalError.pick({ statusCode: true, message: true, reason: true }).shape),
    failed.extend(planError.shape),
    failed.extend(monthlyLimitError.shape),
  ])
  .register(responseParts, { id: 'BatchResult' });
export type BatchResult = z.infer<typeof batchResult>;

export const batchResponse = named('BatchResponse', {
  results: z.array(batchResult).describe('One for each item, in the same order.'),
});
export type BatchResponse = z.infer<typeof batchResponse>;
