import type { RedirectRule } from '../../../../schemas/redirect-rules.js';
import { formatShare } from '../../numbers.js';
import { describeConditions } from '../../rules-form.js';
import { texts } from '../../texts.js';

/** The URL of a rule, or those of its split with their shares. */
export const Destinations = ({ rule }: { readonly rule: RedirectRule }) => {
  if ('url' in rule) return <bdi>{rule.url}</bdi>;
  const total = rule.split.reduce((sum, { weight }) => sum + weight, 0);
  return (
    <>
      {rule.split.map(({ name, url, weight }, index) => (
        <span key={index}>
          {index > 0 && ', '}
          <bdi>{url}</bdi> ({name}, {formatShare(weight, total)})
        </span>
      ))}
    </>
  );
};

/** The rules of a link, in their order. */
export const RuleList = ({ rules }: { readonly rules: readonly RedirectRule[] }) => (
  <details open>
    <summary>{texts.rules.rules}</summary>
    <ol>
      {rules.map((rule) => (
        <li key={rule.name} class="long">
          <strong>{rule.name}</strong>: {describeConditions(rule.when)} →{' '}
          <Destinations rule={rule} />
        </li>
      ))}
    </ol>
  </details>
);
