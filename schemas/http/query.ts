import { z } from 'zod';

/** A whole number of a query, such as `limit=20`. */
export const wholeNumber = (low: number, high: number, message: string) =>
  z
    .string({ error: message })
    .regex(/^\d{1,4}$/, message)
    .transform(Number)
    .pipe(z.int().min(low, message).max(high, message));
