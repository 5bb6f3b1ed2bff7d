const headers = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'] as const;
const ahead = /\b(?:prefetch|prerender|preview)\b/i;

/** Whether a browser asks before its user does: it drops a refusal, and asks again when the user goes. */
export const isPrefetch = (
  request: Readonly<Record<string, string | readonly string[] | undefined>>,
): boolean =>
  headers.some((name) => {
    const value = request[name];
    return value !== undefined && ahead.test(String(value));
  });
