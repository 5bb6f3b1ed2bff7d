import { createHash, randomBytes } from 'node:crypto';

/*
 * A quick check that turns down 31 of 32 wrong passwords without a hash: the salt of a hash is drawn until
 * the SHA-256 of salt and password begins with five zero bits. So a process that has never seen the right
 * password can check more guesses than it can hash. The price: whoever steals the hashes needs a
 * thirty-second of the work to try a list of passwords.
 *
 * Texts of such hashes begin with `prefix`; those made before are plain argon2id.
 */
const prefix = 'sieve=5';
const saltBytes = 16;

const passes = (salt: Buffer, password: Buffer): boolean => {
  const [first = 0] = createHash('sha256').update(salt).update(password).digest();
  return first < 8;
};

/** A random salt with which this password passes. */
export const saltFor = (password: Buffer): Buffer => {
  for (;;) {
    const salt = randomBytes(saltBytes);
    if (passes(salt, password)) return salt;
  }
};

/** The text to keep of a hash whose salt is of `saltFor`. */
export const withSieve = (argon2Text: string): string => prefix + argon2Text;

export const argon2TextOf = (hash: string): string =>
  hash.startsWith(prefix) ? hash.slice(prefix.length) : hash;

/** Whether a password may be the right one; `false` is certain. */
export const passesSieve = (hash: string, password: Buffer): boolean => {
  if (!hash.startsWith(prefix)) return true;
  const [, , , , salt = ''] = hash.split('$');
  return passes(Buffer.from(salt, 'base64'), password);
};
