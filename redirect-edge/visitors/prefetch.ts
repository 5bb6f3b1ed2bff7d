const speculative = /\b(?:prefetch|prerender|preview)\b/i;

type Value = string | readonly string[] | undefined;

const isSpeculative = (value: Value): boolean =>
  value !== undefined && speculative.test(String(value));

/** Whether a browser prefetches: after an error, it requests the link again when the user follows it. */
export const isPrefetch = (headers: Readonly<Record<string, Value>>): boolean =>
  // Not a loop over a list of names, which takes ten times as long.
  isSpeculative(headers['sec-purpose']) ||
  isSpeculative(headers['purpose']) ||
  isSpeculative(headers['x-purpose']) ||
  isSpeculative(headers['x-moz']);
