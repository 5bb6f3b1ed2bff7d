import { useState } from 'preact/hooks';
import type { RuleConditions, WeeklyWindow } from '../../../../schemas/redirect-rules.js';
import { formatValue, ownZoneOf } from '../../format.js';
import {
  dayNames,
  fromLocalTime,
  networksOf,
  newWindow,
  queryOf,
  queryText,
  toLocalTime,
  valuesOf,
  withCondition,
} from '../../rules-form.js';
import { texts } from '../../all-texts.js';
import { type Attribute, attributeNames, attributes, optionsOf } from '../../visitor-values.js';
import { Check, Input, TextArea, withValue, ZoneField } from '../components/field.js';
import { closePopover, Popover } from '../components/popover.js';

const { common, rules: text } = texts;

const times = [
  ['after', text.starts],
  ['before', text.ends],
] as const;

interface ChecksProps {
  readonly options: readonly (readonly [value: string, name: string])[];
  readonly values: readonly string[];
  readonly onChange: (values: readonly string[]) => void;
}

const Checks = ({ options, values, onChange }: ChecksProps) => (
  <>
    {options.map(([option, name]) => (
      <Check
        key={option}
        checked={values.includes(option)}
        onChecked={(isChecked) => {
          const others = values.filter((value) => value !== option);
          onChange(isChecked ? [...others, option] : others);
        }}
        label={name}
      />
    ))}
  </>
);

/** Lists from this length on can be searched. */
const searchable = 20;

interface AttributeProps {
  readonly attribute: Attribute;
  readonly values: readonly string[];
  readonly onChange: (values: readonly string[]) => void;
}

/** The values of an attribute that match. The list is created when it is opened, because it can be long. */
const AttributeField = ({ attribute, values, onChange }: AttributeProps) => {
  const [isOpen, setOpen] = useState(values.length === 0);
  const [search, setSearch] = useState('');
  const label = attributeNames[attribute];
  const options = isOpen ? optionsOf(attribute, values) : [];
  const shown = options.filter(([, name]) => name.toLowerCase().includes(search.toLowerCase()));
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {label}:{' '}
        {values.length === 0
          ? text.any
          : values.map((value) => formatValue(attribute, value)).join(', ')}
      </summary>
      {options.length >= searchable && (
        <Input
          label={text.searchIn(label)}
          type="search"
          value={search}
          onInput={withValue(setSearch)}
          onKeyDown={(event) => {
            // Enter would submit the form.
            if (event.key === 'Enter') event.preventDefault();
          }}
        />
      )}
      {isOpen && (
        <div class="options" role="group" aria-label={label}>
          <Checks options={shown} values={values} onChange={onChange} />
        </div>
      )}
    </details>
  );
};

const days = dayNames.map((name, index) => [String(index + 1), name] as const);

interface WeeklyProps {
  readonly weekly: WeeklyWindow | undefined;
  readonly onChange: (weekly: WeeklyWindow | null) => void;
}

const WeeklyField = ({ weekly, onChange }: WeeklyProps) => (
  <>
    <Check
      checked={weekly !== undefined}
      onChecked={(isChecked) => onChange(isChecked ? newWindow(ownZoneOf()) : null)}
      label={text.weekly}
    />
    {weekly && (
      <>
        <fieldset>
          <legend>{text.days}</legend>
          <Checks
            options={days}
            values={weekly.days.map(String)}
            onChange={(values) => {
              onChange({ ...weekly, days: values.map(Number).sort((a, b) => a - b) });
            }}
          />
        </fieldset>
        <div class="columns">
          <Input
            label={text.fromTime}
            type="time"
            required
            value={weekly.from}
            onChange={withValue((value) => onChange({ ...weekly, from: value }))}
          />
          <Input
            label={text.toTime}
            type="time"
            required
            value={weekly.to}
            hint={text.toTimeHint}
            onChange={withValue((value) => onChange({ ...weekly, to: value }))}
          />
          <ZoneField value={weekly.tz} onChange={(tz) => onChange({ ...weekly, tz })} />
        </div>
      </>
    )}
  </>
);

interface LinesProps {
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly normalise: (lines: string) => string;
  readonly onInput: (lines: string) => void;
}

/** Shows the lines as they were typed while they mean the value, also if the page renders again. */
const LinesArea = ({ value, normalise, onInput, ...rest }: LinesProps) => {
  const [typed, setTyped] = useState(value);
  return (
    <TextArea
      {...rest}
      rows={2}
      value={normalise(typed) === value ? typed : value}
      onInput={withValue((lines) => {
        setTyped(lines);
        onInput(lines);
      })}
    />
  );
};

const fields = [...attributes, 'times', 'weekly', 'query', 'networks'] as const;
type FieldName = (typeof fields)[number];

const labels: Readonly<Record<FieldName, string>> = {
  ...attributeNames,
  times: text.times,
  weekly: text.weekly,
  query: text.query,
  networks: text.networks,
};

const isSet = (when: RuleConditions, name: FieldName): boolean =>
  (name === 'times' ? (when.after ?? when.before) : when[name]) !== undefined;

interface Props {
  readonly when: RuleConditions;
  readonly onChange: (when: RuleConditions) => void;
}

/** The conditions of a rule, and a choice of further ones. */
export const Conditions = ({ when, onChange }: Props) => {
  const [added, setAdded] = useState(() => fields.filter((name) => isSet(when, name)));
  const isShown = (name: FieldName): boolean => added.includes(name) || isSet(when, name);
  const add = (name: FieldName): void => {
    setAdded([...added, name]);
    if (name === 'weekly') onChange(withCondition(when, name, newWindow(ownZoneOf())));
  };
  const others = fields.filter((name) => !isShown(name));
  return (
    <>
      {attributes.filter(isShown).map((attribute) => (
        <AttributeField
          key={attribute}
          attribute={attribute}
          values={valuesOf(when, attribute)}
          onChange={(values) => onChange(withCondition(when, attribute, values))}
        />
      ))}
      {isShown('times') && (
        <div class="columns">
          {times.map(([name, label]) => (
            <Input
              key={name}
              label={label}
              type="datetime-local"
              max="9999-12-31T23:59"
              value={toLocalTime(when[name])}
              hint={common.ownZone(ownZoneOf())}
              onChange={withValue((value) => {
                onChange(withCondition(when, name, fromLocalTime(value)));
              })}
            />
          ))}
        </div>
      )}
      {isShown('weekly') && (
        <WeeklyField
          weekly={when.weekly}
          onChange={(weekly) => onChange(withCondition(when, 'weekly', weekly))}
        />
      )}
      {isShown('query') && (
        <LinesArea
          label={text.query}
          hint={text.queryHint}
          value={queryText(when.query)}
          normalise={(lines) => queryText(queryOf(lines))}
          onInput={(lines) => onChange(withCondition(when, 'query', queryOf(lines)))}
        />
      )}
      {isShown('networks') && (
        <LinesArea
          label={text.networks}
          hint={text.networksHint}
          value={when.networks?.join('\n') ?? ''}
          normalise={(lines) => networksOf(lines).join('\n')}
          onInput={(lines) => onChange(withCondition(when, 'networks', networksOf(lines)))}
        />
      )}
      {others.length > 0 && (
        <Popover label={text.addCondition}>
          <div class="choices">
            {others.map((name) => (
              <button
                key={name}
                type="button"
                class="quiet small"
                onClick={({ currentTarget }) => {
                  closePopover(currentTarget);
                  add(name);
                }}
              >
                {labels[name]}
              </button>
            ))}
          </div>
        </Popover>
      )}
    </>
  );
};
