import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { SplitEntry } from '../../../../schemas/redirect-rules.js';
import { formatShare } from '../../numbers.js';
import {
  maxEntries,
  maxRules,
  moveRule,
  newEntry,
  newRule,
  toRequest,
  type RuleForm,
} from '../../rules-form.js';
import { Input } from '../components/field.js';
import { Conditions } from './conditions.js';
import { RulePreview } from './rule-preview.js';

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
    title="Letters, digits, hyphens and underscores"
    value={value}
    onInput={(event) => {
      onChange(event.currentTarget.value);
    }}
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
    <>
      {entries.map((entry, index) => {
        const change = (changed: Partial<SplitEntry>): void => {
          onChange(entries.with(index, { ...entry, ...changed }));
        };
        const url = (
          <Input
            label={isSplit ? `URL of entry ${index + 1}` : 'URL'}
            inputMode="url"
            required
            maxLength={2_048}
            value={entry.url}
            onInput={(event) => {
              change({ url: event.currentTarget.value });
            }}
          />
        );
        return isSplit ? (
          <div key={index} class="picker" role="group" aria-label={`Entry ${index + 1}`}>
            <NameField
              label={`Name of entry ${index + 1}`}
              value={entry.name}
              onChange={(name) => {
                change({ name });
              }}
            />
            {url}
            <Input
              label={`Weight of entry ${index + 1}, ${formatShare(entry.weight, total)}`}
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
              Remove<span class="unseen"> entry {index + 1}</span>
            </button>
          </div>
        ) : (
          url
        );
      })}
      <button
        ref={add}
        type="button"
        class="small"
        aria-disabled={isFull}
        onClick={() => {
          if (!isFull) onChange([...entries, newEntry(entries)]);
        }}
      >
        {isSplit ? 'Add an entry' : 'Split between several URLs'}
      </button>
    </>
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
  <fieldset class="stack" data-rule={rule.id}>
    <legend>Rule {index + 1}</legend>
    <div class="row">
      <button
        type="button"
        class="small up"
        aria-disabled={index === 0}
        onClick={() => {
          onMove(-1);
        }}
      >
        Move up<span class="unseen"> rule {index + 1}</span>
      </button>
      <button
        type="button"
        class="small down"
        aria-disabled={index === count - 1}
        onClick={() => {
          onMove(1);
        }}
      >
        Move down<span class="unseen"> rule {index + 1}</span>
      </button>
      <button type="button" class="small" onClick={onRemove}>
        Remove<span class="unseen"> rule {index + 1}</span>
      </button>
    </div>
    <NameField
      label="Name of the rule"
      value={rule.name}
      onChange={(name) => {
        onChange({ ...rule, name });
      }}
    />
    <Conditions
      when={rule.when}
      onChange={(when) => {
        onChange({ ...rule, when });
      }}
    />
    <Entries
      entries={rule.entries}
      onChange={(entries) => {
        onChange({ ...rule, entries });
      }}
    />
  </fieldset>
);

interface Props {
  readonly rules: readonly RuleForm[];
  readonly onChange: (rules: readonly RuleForm[]) => void;
  readonly forwardsQuery?: boolean;
}

/** The redirect rules of a link, and the field `forwardQuery`. */
export const RuleEditor = ({ rules, onChange, forwardsQuery = false }: Props) => {
  const editor = useRef<HTMLFieldSetElement>(null);
  /** The selector of the element that gets the focus after a change. */
  const focus = useRef<string | null>(null);
  const [note, setNote] = useState('');
  useLayoutEffect(() => {
    if (focus.current === null) return;
    editor.current?.querySelector<HTMLElement>(focus.current)?.focus();
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
    change(moved, focused, `${rule.name} is now rule ${index + by + 1}.`);
  };

  return (
    <fieldset class="stack" ref={editor}>
      <legend>Redirect rules</legend>
      <p class="hint">
        Visitors get the URL of the first rule that matches, and without a match the destination.
      </p>
      {rules.map((rule, index) => (
        <Rule
          key={rule.id}
          rule={rule}
          index={index}
          count={rules.length}
          onChange={(changed) => {
            onChange(rules.with(index, changed));
          }}
          onMove={(by) => {
            move(rule, index, by);
          }}
          onRemove={() => {
            change(rules.toSpliced(index, 1), '.add', `${rule.name} is removed.`);
          }}
        />
      ))}
      <p class="row">
        <button
          type="button"
          class="add"
          aria-disabled={rules.length >= maxRules}
          onClick={() => {
            if (rules.length >= maxRules) return;
            const rule = newRule(rules);
            change([...rules, rule], `[data-rule="${rule.id}"] input`, '');
          }}
        >
          Add a rule
        </button>
        <span role="status">{note}</span>
      </p>
      {rules.length > 0 && <RulePreview rules={toRequest(rules) ?? []} />}
      <label class="check">
        <input type="checkbox" name="forwardQuery" defaultChecked={forwardsQuery} />
        Forward the visitor’s query
      </label>
    </fieldset>
  );
};
