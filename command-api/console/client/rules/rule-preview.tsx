import { useEffect, useState } from 'preact/hooks';
import type { RedirectRule } from '../../../../schemas/redirect-rules.js';
import type { appliedRule } from '../../applied-rule.js';
import { toLocalTime } from '../../rules-form.js';
import {
  attributeNames,
  attributes,
  optionsOf,
  visitorOf,
  type Visitor,
} from '../../visitor-values.js';
import { texts } from '../../texts.js';
import { Input, Select, withValue } from '../components/field.js';
import { richText } from '../components/rich-text.js';
import { Destinations } from './rule-list.js';

const text = texts.rules;

type AppliedRule = typeof appliedRule;

/** The decision of the edge, from a separate file. */
const useAppliedRule = (): AppliedRule | null | undefined => {
  const [loaded, setLoaded] = useState<AppliedRule | null>();
  useEffect(() => {
    import('../../applied-rule.js').then(
      (module) => {
        setLoaded(() => module.appliedRule);
      },
      () => {
        setLoaded(null);
      },
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
    <details
      onToggle={(event) => {
        setOpen(event.currentTarget.open);
      }}
    >
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
