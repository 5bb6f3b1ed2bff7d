import type { RedirectRule } from '../../../schemas/redirect-rules.js';
import { count, plain } from './output.js';

/** `night (weekly 1, 2 22:00 to 06:00 Europe/Berlin) https://example.com/night` */
const ruleText = (rule: RedirectRule): string => {
  const { weekly, query, ...others } = rule.when;
  const conditions = Object.entries(others).map(
    ([name, values]) => `${name} ${[values].flat().join(', ')}`,
  );
  for (const [name, value] of Object.entries(query ?? {})) {
    conditions.push(value === null ? `query without ${name}` : `query ${name}=${value}`);
  }
  if (weekly) {
    const { days, from, to, tz } = weekly;
    conditions.push(`weekly ${days.join(', ')} ${from} to ${to} ${tz}`);
  }
  const targets =
    'url' in rule
      ? [rule.url]
      : rule.split.map(({ name, url, weight }) => `${name} (weight ${count(weight)}) ${url}`);
  const when = conditions.join('; ') || 'always';
  return plain(`${rule.name} (${when}) ${targets.join(', ')}`);
};

/** The fields of a link's rules for `formatFields`. */
export const ruleFields = (link: {
  readonly rules: readonly RedirectRule[] | null;
}): (readonly [string, string | null])[] =>
  (link.rules ?? []).map((rule) => ['rule', ruleText(rule)] as const);
