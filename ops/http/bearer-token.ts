import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

const bearer = /^Bearer +(\S+) *$/i;

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The token of the `Authorization` header; `undefined` if there is none. */
export const bearerToken = ({ authorization = '' }: IncomingHttpHeaders): string | undefined =>
  bearer.exec(authorization)?.[1];

/** Returns a function that compares a token with each of `tokens`, in constant time. */
export const tokenMatcher = (tokens: readonly string[]): ((token: string) => boolean) => {
  const expected = tokens.map(digest);
  return (token) => {
    const given = digest(token);
    return expected.filter((known) => timingSafeEqual(given, known)).length > 0;
  };
};
