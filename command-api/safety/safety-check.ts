import { messages } from '../../schemas/http/errors.js';
import { failure, unavailable, type Reply } from '../http/reply.js';

/** `Retry-After` while the web safety service is unavailable (s). */
const safetyRetryAfter = 5;

/** The responses to verdicts; `null` for a safe destination. */
export const safetyResponses: Readonly<Record<SafetyVerdict, Reply | null>> = {
  safe: null,
  unsafe: failure(400, messages.urlUnsafe),
  unknown: unavailable(messages.safetyUnavailable, safetyRetryAfter),
};

/** `unknown`: no verdict in time; such a URL must not be accepted. */
export type SafetyVerdict = 'safe' | 'unsafe' | 'unknown';

export interface SafetyCheck {
  /**
   * Returns a verdict for each of the valid http(s) URLs, in the same order.
   *
   * @param payer the root key whose look-ups at a service are limited; without one, they are not
   */
  readonly check: (urls: readonly string[], payer?: string) => Promise<readonly SafetyVerdict[]>;
}

/** Runs checks in order. Each one gets only the URLs that are safe so far. */
export const checkInOrder = (checks: readonly SafetyCheck[]): SafetyCheck => ({
  async check(urls, payer) {
    const verdicts = urls.map((): SafetyVerdict => 'safe');
    for (const next of checks) {
      const open = [...verdicts.keys()].filter((index) => verdicts[index] === 'safe');
      if (open.length === 0) break;
      const found = await next.check(
        open.map((index) => urls[index] ?? ''),
        payer,
      );
      open.forEach((index, at) => {
        verdicts[index] = found[at] ?? 'unknown';
      });
    }
    return verdicts;
  },
});

/**
 * Returns the worst verdict of each group of URLs, in the same order. A URL of several groups is checked once. URLs with
 * other schemes than http and https have no host to check.
 */
export const checkGroups = async (
  safety: SafetyCheck,
  groups: readonly (readonly string[])[],
  payer?: string,
): Promise<readonly SafetyVerdict[]> => {
  const urls = [...new Set(groups.flat())].filter((url) => /^https?:/i.test(url));
  const verdicts = await safety.check(urls, payer);
  const verdictOf = new Map(urls.map((url, index) => [url, verdicts[index] ?? 'unknown']));
  return groups.map((group) => {
    const found = new Set(group.map((url) => verdictOf.get(url)));
    if (found.has('unsafe')) return 'unsafe';
    return found.has('unknown') ? 'unknown' : 'safe';
  });
};
