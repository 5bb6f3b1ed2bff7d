import { v7 as uuidv7 } from 'uuid';

const acceptable = /^[\x21-\x7e]{1,128}$/;

/** The caller's `X-Request-Id` where it has 1 to 128 visible characters, otherwise a new one. */
export const requestIdOf = (header: string | readonly string[] | undefined): string =>
  typeof header === 'string' && acceptable.test(header) ? header : uuidv7();
