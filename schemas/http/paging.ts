import { z } from 'zod';
import { wholeNumber } from './query.js';

/** The entries of one page. */
export const limitUpTo = (most: number) =>
  wholeNumber(1, most, `limit must be between 1 and ${most}`).describe(
    'The maximum of entries per page.',
  );

export const pageLimit = limitUpTo(1_000);

/** The cursor in the response. */
export const nextPage = z
  .string()
  .nullable()
  .describe('The `after` of the next page; `null` on the last page.');

/**
 * A page ends before it has more bytes than this, however many entries were requested: a page of so many bytes takes
 * 5 ms of the main thread.
 */
export const maxPageBytes = 500_000;
