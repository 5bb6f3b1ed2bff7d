import { z } from 'zod';

/** Parses JSON text. `pipe` it into a schema of the value. */
export const jsonText = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue('is no JSON');
    return z.NEVER;
  }
});

/** The entry in a line of a list, trimmed; empty: there is none. A `#` after white space starts a comment. */
export const listEntry = (line: string): string => line.replace(/(^|\s)#.*$/s, '').trim();

/** Returns the entries of a list, one per line. */
export const parseList = (text: string): readonly string[] =>
  text
    .split(/[\r\n]+/)
    .map(listEntry)
    .filter((entry) => entry !== '');
