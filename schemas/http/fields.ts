/** Fields that several requests have. */
import { z } from 'zod';

/** `null` in an optional field means absent. */
export const optional = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? null);

const tenYears = 315_360_000;

/** Seconds from now. */
export const expiresIn = z
  .number({ error: 'expiresIn must be a number' })
  .min(60, { error: 'expiresIn must be at least 60 seconds (1 minute)', abort: true })
  .max(tenYears, {
    error: `expiresIn must be at most ${tenYears} seconds (10 years)`,
    abort: true,
  })
  .int({ error: 'expiresIn must be a whole number of seconds' });
