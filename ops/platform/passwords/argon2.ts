import { hash, verify } from '@node-rs/argon2';

/** OWASP's second choice of parameters: 19 MiB and two passes; some 25 ms of a core. argon2id. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** The same characters typed on two keyboards may be other code points. */
const bytesOf = (password: string): Buffer => Buffer.from(password.normalize('NFC'), 'utf8');

/** A password as it may be kept: argon2id, with its parameters and its salt in the text. */
export const hashPassword = (password: string): Promise<string> => hash(bytesOf(password), cost);

export const verifyPassword = (passwordHash: string, password: string): Promise<boolean> =>
  verify(passwordHash, bytesOf(password));
