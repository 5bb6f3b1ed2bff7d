import type { WebhookResponse } from '../../../../schemas/http/webhooks.js';
import { withScheme } from '../../destination.js';
import { eventNames, formatDate, formatEventType, formatTime } from '../../format.js';
import { texts } from '../../all-texts.js';
import { fieldsOf } from '../app/hooks.js';
import { Check, Input, UrlInput } from '../components/field.js';
import { DomainSelect } from '../components/own-domains.js';

const { common, webhooks: text } = texts;

export const WebhookStatus = ({ webhook }: { readonly webhook: WebhookResponse }) => {
  const { status, failingSince, lag } = webhook;
  const isFailing = status === 'enabled' && failingSince !== null;
  const state = status === 'enabled' && lag > 0 ? 'delivering' : status;
  return (
    <span class={`badge ${isFailing ? 'failed' : status}`}>
      {isFailing ? text.failingSince(formatTime(failingSince)) : text.status[state]}
    </span>
  );
};

/** What a webhook receives, and its progress. */
export const WebhookSummary = ({ webhook }: { readonly webhook: WebhookResponse }) => {
  const { types, domain, disabledReason, lag, lastDelivery, createdAt } = webhook;
  return (
    <>
      {disabledReason !== null && <p class="bad">{text.disabledReason(disabledReason)}</p>}
      <p>
        {types === null ? (
          <span class="tag">{text.allButVisits}</span>
        ) : (
          types.map((type) => (
            <span key={type} class="tag">
              {formatEventType(type)}
            </span>
          ))
        )}
        {domain !== null && <span class="badge">{text.onlyDomain(domain)}</span>}
      </p>
      <p class="soft">
        {text.lag(lag)}{' '}
        {lastDelivery === null
          ? text.noDelivery
          : text.lastDelivery(
              formatTime(lastDelivery.at),
              text.deliveryStatus[lastDelivery.status],
            )}{' '}
        {text.createdOn(formatDate(createdAt))}
      </p>
    </>
  );
};

type Terms = Pick<WebhookResponse, 'url' | 'types' | 'domain' | 'description'>;

/** The fields of a webhook. @param terms absent for a new one */
export const WebhookFields = ({ terms }: { readonly terms?: Terms }) => {
  const chosen: readonly string[] = terms?.types ?? [];
  return (
    <>
      <UrlInput
        label={texts.components.url}
        name="url"
        required
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
      <fieldset class="stack">
        <legend>{text.events}</legend>
        <details open={chosen.length > 0}>
          <summary>{text.chooseEvents}</summary>
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
        </details>
      </fieldset>
    </>
  );
};

export const termsIn = (data: FormData): Terms => {
  const { url = '', domain = null, description = null } = fieldsOf(data);
  const types = data.getAll('type').map(String);
  return { url: withScheme(url), types: types.length > 0 ? types : null, domain, description };
};

/** The values that differ from those of a webhook. */
export const changesOf = (terms: Terms, webhook: Terms): Partial<Terms> =>
  Object.fromEntries(
    Object.entries(terms).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(webhook[name as keyof Terms]),
    ),
  );
