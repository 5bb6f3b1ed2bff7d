import { useState } from 'preact/hooks';
import { eventNames } from '../../event-names.js';
import { formatEventType } from '../../format.js';
import { texts } from '../../texts.js';
import { fieldsOf } from '../app/hooks.js';
import type { Webhook } from '../app/types.js';
import { Input } from '../components/field.js';
import { DomainSelect } from '../components/own-domains.js';

const text = texts.webhooks;

type Terms = Pick<Webhook, 'url' | 'types' | 'domain' | 'description'>;

/** The fields of a webhook. @param terms absent for a new one */
export const WebhookFields = ({ terms }: { readonly terms?: Terms }) => {
  const [isDefault, setDefault] = useState((terms?.types ?? null) === null);
  const chosen: readonly string[] = terms?.types ?? [];
  return (
    <>
      <Input
        label={texts.components.url}
        name="url"
        required
        inputMode="url"
        maxLength={2_048}
        placeholder={text.urlExample}
        defaultValue={terms?.url ?? ''}
        hint={text.urlHint}
      />
      <div class="columns">
        <DomainSelect name="domain" none={text.allDomains} value={terms?.domain ?? ''} />
        <Input
          label={text.description}
          name="description"
          maxLength={200}
          defaultValue={terms?.description ?? ''}
        />
      </div>
      <fieldset>
        <legend>{text.events}</legend>
        <label class="check">
          <input
            type="checkbox"
            name="allButVisits"
            checked={isDefault}
            onChange={(event) => {
              setDefault(event.currentTarget.checked);
            }}
          />
          {text.defaultEvents}
        </label>
        {!isDefault && (
          <div class="options">
            {eventNames.map((name) => (
              <label key={name} class="check">
                <input
                  type="checkbox"
                  name="type"
                  value={name}
                  defaultChecked={chosen.includes(name)}
                />
                {formatEventType(name)}
              </label>
            ))}
          </div>
        )}
      </fieldset>
    </>
  );
};

/** The values of a form with `WebhookFields`. */
export const termsIn = (form: HTMLFormElement): Terms => {
  const { url = '', domain = null, description = null } = fieldsOf(form);
  const data = new FormData(form);
  const types = data.has('allButVisits') ? null : data.getAll('type').map(String);
  return { url, types, domain, description };
};

/** The values that differ from those of a webhook. */
export const changesOf = (terms: Terms, webhook: Terms): Partial<Terms> =>
  Object.fromEntries(
    Object.entries(terms).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(webhook[name as keyof Terms]),
    ),
  );
