import { useState } from 'preact/hooks';
import type { WebhookResponse } from '../../../../schemas/http/webhooks.js';
import { eventNames } from '../../event-names.js';
import { formatEventType } from '../../format.js';
import { texts } from '../../texts.js';
import { fieldsOf } from '../app/hooks.js';
import { Check, Input } from '../components/field.js';
import { DomainSelect } from '../components/own-domains.js';

const { common, webhooks: text } = texts;

type Terms = Pick<WebhookResponse, 'url' | 'types' | 'domain' | 'description'>;

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
        <DomainSelect name="domain" none={common.allDomains} value={terms?.domain ?? ''} />
        <Input
          label={text.description}
          name="description"
          maxLength={200}
          defaultValue={terms?.description ?? ''}
        />
      </div>
      <fieldset>
        <legend>{text.events}</legend>
        <Check
          name="allButVisits"
          checked={isDefault}
          onChecked={setDefault}
          label={text.defaultEvents}
        />
        {!isDefault && (
          <div class="options">
            {eventNames.map((name) => (
              <Check
                key={name}
                name="type"
                value={name}
                defaultChecked={chosen.includes(name)}
                label={formatEventType(name)}
              />
            ))}
          </div>
        )}
      </fieldset>
    </>
  );
};

/** The values of a form with `WebhookFields`. */
export const termsIn = (data: FormData): Terms => {
  const { url = '', domain = null, description = null } = fieldsOf(data);
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
