import { z } from 'zod';

const limitMessage = 'limit must be between 1 and 1000';

/** The entries of one page. */
export const pageLimit = z
  .string({ error: limitMessage })
  .regex(/^\d{1,4}$/, limitMessage)
  .transform(Number)
  .pipe(z.int().min(1, limitMessage).max(1_000, limitMessage));

/**
 * A page ends before it has more bytes than this, however many entries were requested: a page of so many bytes takes
 * 5 ms of the main thread.
 */
export const maxPageBytes = 500_000;
