import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';

const prefix = 'll_';
const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const checksumLength = 6;

/** The alphabet of keys and of generated short codes. */
export const keyAlphabet = base62;
export const keySecretLength = 32;

const pattern = /^ll_([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/;

const checksum = (secret: string): string => {
  let rest = crc32(secret);
  let digits = '';
  for (let index = 0; index < checksumLength; index += 1) {
    digits = base62.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
};

/** The key with this secret. */
export const keyToken = (secret: string): string => prefix + secret + checksum(secret);

/** Whether a text has the format and checksum of a key. */
export const isKeyToken = (text: string): boolean => {
  const match = pattern.exec(text);
  return match?.[1] !== undefined && checksum(match[1]) === match[2];
};

/** The stored hash of a key: SHA-256, hexadecimal. */
export const hashKeyToken = (token: string): string => hash('sha256', token, 'hex');
