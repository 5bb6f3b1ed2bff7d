const ahead = /\b(?:prefetch|prerender|preview)\b/i;

type Value = string | readonly string[] | undefined;

const tells = (value: Value): boolean => value !== undefined && ahead.test(String(value));

/** Whether a browser asks before its user does: it drops a refusal, and asks again when the user goes. */
export const isPrefetch = (headers: Readonly<Record<string, Value>>): boolean =>
  // One by one: a list of their names takes ten times as long.
  tells(headers['sec-purpose']) ||
  tells(headers['purpose']) ||
  tells(headers['x-purpose']) ||
  tells(headers['x-moz']);
