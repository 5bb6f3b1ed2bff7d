import { z } from 'zod';

/** Text that must be JSON. Give it a schema for the value with `pipe`. */
export const jsonText = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue('is no JSON');
    return z.NEVER;
  }
});
