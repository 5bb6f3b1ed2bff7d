import { z } from 'zod';
import { parseUrl } from '../../schemas/parse-url.js';

/** Scheme, host and optional port, as an origin with the host in ASCII. The message does not repeat a password. */
export const origin = z.string().transform((text, ctx): string => {
  const url = /^https?:\/\/[^/?#@\\\s]+\/?$/i.test(text) ? parseUrl(text) : null;
  if (url) return url.origin;
  ctx.addIssue('must be a scheme, host and optional port, such as https://go.example.com');
  return z.NEVER;
});
