import type { InputHTMLAttributes } from 'preact';
import { useState } from 'preact/hooks';
import type { Scope } from '../../../../schemas/scopes.js';
import { presetOf, presetScopes, presetsOf } from '../../scope-presets.js';
import { texts } from '../../all-texts.js';
import { Check, Input, Select, withValue } from '../components/field.js';

const text = texts.keys;
const { never, inADay, in30Days, inAYear } = texts.components;

export const allScopes = Object.keys(texts.scopes) as readonly Scope[];

/** Seconds until the end of a key; empty: never. */
export const keyLifetimes = [
  ['', never],
  ['86400', inADay],
  ['2592000', in30Days],
  ['31536000', inAYear],
] as const;

export const KeyName = (props: InputHTMLAttributes & { readonly label?: string }) => (
  <Input label={text.name} name="name" required maxLength={100} {...props} />
);

interface Props {
  readonly offered: readonly Scope[];
  readonly chosen: readonly string[];
}

const describe = (scope: Scope) => (
  <>
    {texts.scopes[scope]} <code class="soft">{scope}</code>
  </>
);

export const ScopeFields = ({ offered, chosen }: Props) => {
  const [selected, select] = useState(chosen);
  return (
    <>
      <Select
        label={text.preset}
        value={presetOf(selected, offered) ?? 'custom'}
        options={[...presetsOf(offered), 'custom' as const].map((name) => [
          name,
          text.presets[name],
        ])}
        onChange={withValue((value) => {
          const name = presetsOf(offered).find((preset) => preset === value);
          if (name) select(presetScopes(name, offered));
        })}
      />
      <fieldset>
        <legend>{text.scopesLegend}</legend>
        {offered.map((scope) => (
          <Check
            key={scope}
            name="scope"
            value={scope}
            checked={selected.includes(scope)}
            onChecked={(isChecked) => {
              const others = selected.filter((name) => name !== scope);
              select(isChecked ? [...others, scope] : others);
            }}
            label={describe(scope)}
          />
        ))}
      </fieldset>
    </>
  );
};

/** Scopes in words. */
export const ScopeTags = ({ scopes }: { readonly scopes: readonly Scope[] }) => (
  <p>
    {scopes.map((scope) => (
      <span key={scope} class="tag">
        {texts.scopes[scope]}
      </span>
    ))}
  </p>
);
