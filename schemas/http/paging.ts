import { z } from 'zod';

const limitMessage = 'limit must be between 1 and 1000';

/** The entries of one page. */
export const pageLimit = z
  .string({ error: limitMessage })
  .regex(/^\d{1,4}$/, limitMessage)
  .transform(Number)
  .pipe(z.int().min(1, limitMessage).max(1_000, limitMessage));
