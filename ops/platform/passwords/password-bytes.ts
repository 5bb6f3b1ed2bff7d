/** Normalizes, because keyboards produce different code points for the same characters. */
export const bytesOf = (password: string): Buffer => Buffer.from(password.normalize('NFC'), 'utf8');
