/**
 * White space, and the default-ignorable and bidirectional control characters that pages and messengers put around a
 * URL: soft hyphen, zero-width characters, direction marks, byte order mark.
 */
export const invisible = /[\s\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/;

/** A text without white space and invisible characters at both ends. */
export const trimInvisible = (text: string): string => {
  let start = 0;
  let end = text.length;
  // Not by a pattern: `+$` takes quadratic time if the text contains many such characters.
  while (start < end && invisible.test(text.charAt(start))) start += 1;
  while (end > start && invisible.test(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
};
