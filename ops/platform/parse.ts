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

/** Returns the entries of a list, trimmed, with their line numbers from 1. A `#` after white space starts a comment. */
export const parseList = (text: string) =>
  text
    .replace(/^\ufeff/, '')
    .split(/\r\n|\n|\r/)
    .map((line, index) => ({ text: line.replace(/(^|\s)#.*$/, '').trim(), line: index + 1 }))
    .filter((entry) => entry.text !== '');
