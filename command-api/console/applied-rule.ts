/** Loaded on demand, as few users open the preview of rules. It must not import zod. */
import type { RedirectRule } from '../../schemas/redirect-rules.js';
import { matchingRule } from '../../schemas/rule-target.js';
import type { Visitor } from './visitor-values.js';

/**
 * The rule that the edge applies to a visitor; `null`: none.
 *
 * @param now milliseconds since the epoch
 * @throws RangeError if a time zone is unknown
 */
export const appliedRule = (
  rules: readonly RedirectRule[],
  { countries: country, devices: device, browsers: browser, languages: language, ...rest }: Visitor,
  now: number,
): RedirectRule | null => {
  const { query, address } = rest;
  const request = { query: query ?? '', address: address ?? '' };
  const visit = { ...rest, ...request, country, device, browser, language, visitor: null, now };
  return matchingRule(rules, visit) ?? null;
};
