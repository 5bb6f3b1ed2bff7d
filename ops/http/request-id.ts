import { newId } from '../platform/new-id.js';

const acceptable = /^[\x21-\x7e]{1,128}$/;

/** The client's `X-Request-Id` if it has 1 to 128 visible ASCII characters. */
export const namedRequestId = (
  header: string | readonly string[] | undefined,
): string | undefined =>
  typeof header === 'string' && acceptable.test(header) ? header : undefined;

/** `namedRequestId`, or a new id. */
export const requestIdOf = (header: string | readonly string[] | undefined): string =>
  namedRequestId(header) ?? newId();
