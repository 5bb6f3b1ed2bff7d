import { newId } from '../platform/new-id.js';

const acceptable = /^[\x21-\x7e]{1,128}$/;

/** The caller's `X-Request-Id` where it has 1 to 128 visible characters. */
export const namedRequestId = (
  header: string | readonly string[] | undefined,
): string | undefined =>
  typeof header === 'string' && acceptable.test(header) ? header : undefined;

/** The same, or a new one. */
export const requestIdOf = (header: string | readonly string[] | undefined): string =>
  namedRequestId(header) ?? newId();
