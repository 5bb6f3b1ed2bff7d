import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { SplitEntry } from '../../../../schemas/redirect-rules.js';
import { formatShare } from '../../locale.js';
import {
  maxEntries,
  maxRules,
  moveRule,
  newEntry,
  newRule,
  type RuleForm,
  type Template,
  templateNames,
  toRequest,
} from '../../rules-form.js';
import { texts } from '../../all-texts.js';
import { Input, withValue, UrlInput } from '../components/field.js';
import { richText } from '../components/rich-text.js';
import { Conditions } from './conditions.js';
import { RulePreview } from './rule-list.js';

const text = texts.rules;

/** A text with a part that only screen readers read. */
const withUnseen = (label: string, name: string, unseen: string) =>
  richText(label, { [name]: <span class="unseen">{unseen}</span> });

interface NameProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (name: string) => void;
}

const NameField = ({ label, value, onChange }: NameProps) => (
  <Input
    label={label}
    required
    maxLength={50}
    pattern="[A-Za-z0-9_\-]+"
    title={text.nameRequirement}
    value={value}
    onInput={withValue(onChange)}
  />
);

interface EntriesProps {
  readonly entries: readonly SplitEntry[];
  readonly onChange: (entries: readonly SplitEntry[]) => void;
}

/** The URL of a rule, or the entries of its split. */
const Entries = ({ entries, onChange }: EntriesProps) => {
  const add = useRef<HTMLButtonElement>(null);
  const isSplit = entries.length > 1;
  const isFull = entries.length >= maxEntries;
  const total = entries.reduce((sum, { weight }) => sum + weight, 0);
  return (
    <div class={isSplit ? 'stack' : 'picker url'}>
      {entries.map((entry, index) => {
        const change = (changed: Partial<SplitEntry>): void => {
          onChange(entries.with(index, { ...entry, ...changed }));
        };
        const url = (
          <UrlInput
            label={isSplit ? text.urlOfEntry(index + 1) : text.url}
            required
            value={entry.url}
            onInput={withValue((value) => change({ url: value }))}
          />
        );
        return isSplit ? (
          <div key={index} class="picker" role="group" aria-label={text.entry(index + 1)}>
            <NameField
              label={text.nameOfEntry(index + 1)}
              value={entry.name}
              onChange={(name) => change({ name })}
            />
            {url}
            <Input
              label={text.weightOfEntry(index + 1, formatShare(entry.weight, total))}
              type="number"
              required
              min={1}
              max={1_000}
              value={entry.weight}
              onInput={(event) => {
                const weight = event.currentTarget.valueAsNumber;
                if (!Number.isNaN(weight)) change({ weight });
              }}
            />
            <button
              type="button"
              onClick={() => {
                // The button may disappear with its entry.
                add.current?.focus();
                onChange(entries.toSpliced(index, 1));
              }}
            >
              {withUnseen(text.removeEntry, 'entry', text.unseenEntry(index + 1))}
            </button>
          </div>
        ) : (
          url
        );
      })}
      <button
        ref={add}
        type="button"
        class={isSplit ? 'small' : ''}
        aria-disabled={isFull}
        onClick={() => {
          if (!isFull) onChange([...entries, newEntry(entries)]);
        }}
      >
        {isSplit ? text.addEntry : text.split}
      </button>
    </div>
  );
};

interface RuleProps {
  readonly rule: RuleForm;
  readonly index: number;
  readonly count: number;
  readonly onChange: (rule: RuleForm) => void;
  readonly onMove: (by: -1 | 1) => void;
  readonly onRemove: () => void;
}

const Rule = ({ rule, index, count, onChange, onMove, onRemove }: RuleProps) => (
  <fieldset class="stack rule" data-rule={rule.id}>
    <legend>{texts.components.ruleNumber(index + 1)}</legend>
    <div class="picker">
      <NameField
        label={text.nameOfRule}
        value={rule.name}
        onChange={(name) => onChange({ ...rule, name })}
      />
      <button type="button" class="up" aria-disabled={index === 0} onClick={() => onMove(-1)}>
        {withUnseen(text.moveUp, 'rule', text.unseenRule(index + 1))}
      </button>
      <button
        type="button"
        class="down"
        aria-disabled={index === count - 1}
        onClick={() => onMove(1)}
      >
        {withUnseen(text.moveDown, 'rule', text.unseenRule(index + 1))}
      </button>
      <button type="button" onClick={onRemove}>
        {withUnseen(text.remove, 'rule', text.unseenRule(index + 1))}
      </button>
    </div>
    <Conditions when={rule.when} onChange={(when) => onChange({ ...rule, when })} />
    <Entries entries={rule.entries} onChange={(entries) => onChange({ ...rule, entries })} />
  </fieldset>
);

interface Props {
  readonly rules: readonly RuleForm[];
  /** The destination of the link. */
  readonly url: string;
  readonly onChange: (rules: readonly RuleForm[]) => void;
}

/** The redirect rules of a link. */
export const RuleEditor = ({ rules, url, onChange }: Props) => {
  const editor = useRef<HTMLFieldSetElement>(null);
  /** The selector of the elements whose first empty one gets the focus after a change. Buttons are empty. */
  const focus = useRef<string | null>(null);
  const [note, setNote] = useState('');
  useLayoutEffect(() => {
    if (focus.current === null) return;
    const found = editor.current?.querySelectorAll<HTMLInputElement>(focus.current) ?? [];
    [...found].find(({ value }) => value === '')?.focus();
    focus.current = null;
  });

  const change = (changed: readonly RuleForm[], focused: string, message: string): void => {
    focus.current = focused;
    setNote(message);
    onChange(changed);
  };

  const move = (rule: RuleForm, index: number, by: -1 | 1): void => {
    const moved = moveRule(rules, index, by);
    if (moved === rules) return;
    const focused = `[data-rule="${rule.id}"] .${by === -1 ? 'up' : 'down'}`;
    change(moved, focused, text.moved(rule.name, index + by + 1));
  };

  const add = (template: Template): void => {
    if (rules.length >= maxRules) return;
    const rule = newRule(rules, template, url);
    // The fields that the user must fill.
    const fields = 'input:is([type=search], [inputmode=url])';
    change([...rules, rule], `[data-rule="${rule.id}"] ${fields}`, '');
  };

  return (
    <fieldset class="stack" ref={editor}>
      <legend>{text.rules}</legend>
      <p class="hint">{text.hint}</p>
      {rules.map((rule, index) => (
        <Rule
          key={rule.id}
          rule={rule}
          index={index}
          count={rules.length}
          onChange={(changed) => onChange(rules.with(index, changed))}
          onMove={(by) => move(rule, index, by)}
          onRemove={() => change(rules.toSpliced(index, 1), '.add', text.removed(rule.name))}
        />
      ))}
      <div class="row" role="group" aria-label={text.addRule}>
        {templateNames.map((template) => (
          <button
            key={template}
            type="button"
            class="small add"
            aria-disabled={rules.length >= maxRules}
            onClick={() => add(template)}
          >
            {text.templates[template]}
          </button>
        ))}
        <span role="status">{note}</span>
      </div>
      {rules.length > 0 && <RulePreview rules={toRequest(rules) ?? []} />}
    </fieldset>
  );
};
