/** The same characters typed on two keyboards may be other code points. */
export const bytesOf = (password: string): Buffer => Buffer.from(password.normalize('NFC'), 'utf8');
