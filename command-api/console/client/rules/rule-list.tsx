import { useEffect, useState } from 'preact/hooks';
import type { RedirectRule } from '../../../../schemas/redirect-rules.js';
import type { appliedRule } from '../../applied-rule.js';
import { formatShare } from '../../locale.js';
import { describeConditions, toLocalTime } from '../../rules-form.js';
import { texts } from '../../all-texts.js';
import {
  attributeNames,
  attributes,
  optionsOf,
  type Visitor,
  visitorOf,
} from '../../visitor-values.js';
import { Input, Select, withValue } from '../components/field.js';
import { richText } from '../components/rich-text.js';

const text = texts.rules;

type AppliedRule = typeof appliedRule;

/** The decision of the edge, from a separate file. */
const useAppliedRule = (): AppliedRule | null | undefined => {
  const [loaded, setLoaded] = useState<AppliedRule | null>();
  useEffect(() => {
    import('../../applied-rule.js').then(
      (module) => setLoaded(() => module.appliedRule),
      () => setLoaded(null),
    );
  }, []);
  return loaded;
};

interface ResultProps {
  readonly rules: readonly RedirectRule[];
  readonly visitor: Visitor;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

const Result = ({ rules, visitor, now }: ResultProps) => {
  const decide = useAppliedRule();
  if (decide === undefined) return <>…</>;
  if (decide === null) return <>{texts.components.offline}</>;
  let rule: RedirectRule | null;
  try {
    rule = decide(rules, visitor, now);
  } catch {
    // The time zones of the browser may be older than those of the service.
    return <>{text.unknownZone}</>;
  }
  return rule === null ? (
    <>{text.noRule}</>
  ) : (
    <>{richText(text.byRule, { destinations: <Destinations rule={rule} />, rule: rule.name })}</>
  );
};

/** Shows what a given visitor gets. It starts with the current browser. */
export const RulePreview = ({ rules }: { readonly rules: readonly RedirectRule[] }) => {
  const [isOpen, setOpen] = useState(false);
  const [visitor, setVisitor] = useState(() => visitorOf(navigator.userAgent, navigator.language));
  const [time, setTime] = useState(() => toLocalTime(new Date().toISOString()));
  const now = Date.parse(time);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{text.preview}</summary>
      {isOpen && (
        <div class="stack" role="group" aria-label={text.visitor}>
          <div class="columns">
            {attributes.map((attribute) => (
              <Select
                key={attribute}
                label={attributeNames[attribute]}
                value={visitor[attribute] ?? ''}
                options={[
                  ['', texts.values.unknown],
                  ...optionsOf(attribute, [visitor[attribute] ?? []].flat()),
                ]}
                onChange={withValue((value) => {
                  setVisitor({ ...visitor, [attribute]: value || null });
                })}
              />
            ))}
            {(['query', 'address'] as const).map((name) => (
              <Input
                key={name}
                label={text[name]}
                value={visitor[name] ?? ''}
                onInput={withValue((value) => setVisitor({ ...visitor, [name]: value.trim() }))}
              />
            ))}
            <Input
              label={text.time}
              type="datetime-local"
              max="9999-12-31T23:59"
              value={time}
              onChange={withValue(setTime)}
            />
          </div>
          <p class="long" aria-live="polite">
            {Number.isNaN(now) ? (
              text.chooseTime
            ) : (
              <Result rules={rules} visitor={visitor} now={now} />
            )}
          </p>
        </div>
      )}
    </details>
  );
};

/** The URL of a rule, or those of its split with their shares. */
const Destinations = ({ rule }: { readonly rule: RedirectRule }) => {
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
