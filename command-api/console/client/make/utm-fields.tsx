import { useState } from 'preact/hooks';
import type { UtmTemplateList } from '../../../../schemas/http/utm-templates.js';
import { utmNames } from '../../../../schemas/utm.js';
import type { UtmValues } from '../../destination.js';
import { texts } from '../../all-texts.js';
import { callApi } from '../app/api.js';
import { useApi } from '../app/hooks.js';
import { useScope } from '../app/owner.js';
import { type Action, useActions } from '../components/actions.js';
import { Input, Select, withValue } from '../components/field.js';
import { Trouble } from '../components/trouble.js';

const { common, make: text } = texts;

interface Props {
  readonly values: UtmValues;
  readonly onChange: (values: UtmValues) => void;
}

const path = '/v2/utm-templates';

/** Fills the values from a template, and saves them as one. A name selects the template that has it. */
const Templates = ({ values, onChange }: Props) => {
  const { value, failure, reload } = useApi<UtmTemplateList>(path);
  const tools = useActions(reload);
  const [name, setName] = useState('');
  const wanted = name.trim().normalize();
  const names = value?.templates.map((template) => template.name) ?? [];
  const chosen = names.includes(wanted) ? wanted : '';
  const address = `${path}/${encodeURIComponent(wanted)}`;
  const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''));
  const saving: Action = {
    verb: common.save,
    unseen: wanted,
    call: () => callApi(address, { method: 'PUT', body: given }),
    done: text.templateSaved,
  };
  const removal: Action = {
    ...{ verb: common.delete, unseen: wanted, isDanger: true, isRemoval: true },
    call: () => callApi(address, { method: 'DELETE' }),
    done: text.templateDeleted,
  };
  const choose = (choice: string): void => {
    const template = value?.templates.find((known) => known.name === choice);
    setName(choice);
    if (template) onChange(Object.fromEntries(utmNames.map((key) => [key, template[key] ?? ''])));
  };
  return (
    <>
      <Trouble failure={failure} onRetry={reload} />
      {names.length > 0 && (
        <Select
          label={text.template}
          value={chosen}
          options={[['', '–'], ...names.map((option) => [option, option] as const)]}
          onChange={withValue(choose)}
        />
      )}
      {useScope('links:write') && (
        <>
          <Input
            label={text.saveTemplate}
            maxLength={50}
            hint={text.templateHint}
            value={name}
            onInput={withValue(setName)}
            // Enter would create the link.
            onKeyDown={(event) => {
              if (event.key !== 'Enter') return;
              event.preventDefault();
              if (wanted !== '') tools.start(saving);
            }}
          />
          <p class="row">
            {wanted !== '' && tools.buttons(chosen === '' ? [saving] : [saving, removal])}
          </p>
          {tools.feedback}
        </>
      )}
    </>
  );
};

/** The campaign parameters of the destination. */
export const UtmFields = ({ values, onChange }: Props) => {
  const [isOpen, setOpen] = useState(false);
  const canRead = useScope('links:read');
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{text.utm}</summary>
      <div class="stack">
        <p class="hint">{text.utmHint}</p>
        <div class="columns">
          {utmNames.map((name) => (
            <Input
              key={name}
              label={text.utmNames[name]}
              maxLength={200}
              value={values[name] ?? ''}
              onInput={withValue((value) => onChange({ ...values, [name]: value }))}
            />
          ))}
        </div>
        {isOpen && canRead && <Templates values={values} onChange={onChange} />}
      </div>
    </details>
  );
};
