import { useRoute } from 'preact-iso/router';
import type { Scope } from '../../../../schemas/scopes.js';
import { texts } from '../../texts.js';
import { callApi } from '../app/api.js';
import { useLoad, useReloadOnReturn } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import type { DeliveryPage, Webhook } from '../app/types.js';
import { Trouble } from '../components/trouble.js';
import { Deliveries, useDeliveryFilter } from './deliveries.js';
import { WebhookActions } from './webhook-actions.js';
import { WebhookSummary } from './webhook-summary.js';
import { Webhooks } from './webhooks.js';

const text = texts.webhooks;

const OneWebhook = ({ id }: { readonly id: string }) => {
  const path = `/v2/webhooks/${id}`;
  const { query } = useDeliveryFilter();
  const webhook = useLoad(() => callApi<Webhook>(path), '');
  const deliveries = useLoad(() => callApi<DeliveryPage>(`${path}/deliveries${query}`), query);
  const reload = (): void => {
    webhook.reload();
    deliveries.reload();
  };
  const isLoading = webhook.isLoading || deliveries.isLoading;
  const failure = webhook.failure ?? deliveries.failure;
  useReloadOnReturn({ value: undefined, failure, isLoading, reload });
  const { value } = webhook;
  return (
    <Page title={value ? (value.description ?? new URL(value.url).host) : text.webhook}>
      <Trouble failure={failure} onRetry={reload} />
      {value && (
        <section class="card stack" aria-label={text.theWebhook}>
          <p class="row">
            <span class="long">{value.url}</span>{' '}
            <span class={`badge ${value.status}`}>{text.status[value.status]}</span>
          </p>
          <WebhookSummary webhook={value} />
          <WebhookActions webhook={value} path={path} onChanged={reload} />
        </section>
      )}
      {deliveries.value && (
        <Deliveries path={path} {...deliveries.value} isLoading={isLoading} onReload={reload} />
      )}
    </Page>
  );
};

/** A webhook with its deliveries. @param scopes those of the session's key */
export const WebhookPage = ({ scopes }: { readonly scopes: readonly Scope[] }) => {
  const { id = '' } = useRoute().params;
  // A new key resets the state for another webhook.
  return scopes.includes('webhooks:manage') ? (
    <OneWebhook key={id} id={id} />
  ) : (
    <Webhooks scopes={scopes} />
  );
};
