import { keyAlphabet } from '../../keys/key-token.js';

/** The characters of generated codes. Where case is ignored, without digits and letters that look alike. */
export const alphabetOf = (ignoresCase: boolean): string =>
  ignoresCase ? '23456789abcdefghijkmnpqrstuvwxyz' : keyAlphabet;
