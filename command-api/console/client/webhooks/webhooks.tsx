import { useState } from 'preact/hooks';
import type { Scope } from '../../../../schemas/scopes.js';
import { callApi } from '../app/api.js';
import { onSubmit, useAction, useLoad, useReloadOnReturn } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import type { Webhook, WebhookWithSecret } from '../app/types.js';
import { NewSecret } from '../components/new-secret.js';
import { Trouble } from '../components/trouble.js';
import { termsIn, WebhookFields } from './webhook-fields.js';
import { WebhookSummary } from './webhook-summary.js';

/** Creates a webhook. */
const Create = ({ onCreated }: { readonly onCreated: (webhook: WebhookWithSecret) => void }) => {
  const { isBusy, failure, run } = useAction();
  const submit = onSubmit(async (form) => {
    const body = termsIn(form);
    const done = await run(() =>
      callApi<WebhookWithSecret>('/v2/webhooks', { method: 'POST', body }),
    );
    if (done) onCreated(done.value);
  });
  return (
    <form class="card stack" onSubmit={submit} aria-labelledby="new-webhook">
      <h2 id="new-webhook">New webhook</h2>
      <WebhookFields />
      <Trouble failure={failure} />
      <button class="primary" aria-disabled={isBusy}>
        Make the webhook
      </button>
    </form>
  );
};

const Row = ({ webhook }: { readonly webhook: Webhook }) => (
  <li class="card stack">
    <div>
      <h2 class="row">
        <a class="long clamp" href={`/console/webhooks/${webhook.id}`}>
          {webhook.url}
        </a>{' '}
        <span class={`badge ${webhook.status}`}>{webhook.status}</span>
      </h2>
      {webhook.description !== null && <bdi>{webhook.description}</bdi>}
    </div>
    <WebhookSummary webhook={webhook} />
  </li>
);

const List = () => {
  const loaded = useLoad(
    () => callApi<{ readonly webhooks: readonly Webhook[] }>('/v2/webhooks'),
    '',
  );
  useReloadOnReturn(loaded);
  const { value, failure, reload } = loaded;
  const [secret, setSecret] = useState<string>();
  /** A new number empties the form. */
  const [formNumber, setFormNumber] = useState(0);
  return (
    <>
      <Trouble failure={failure} onRetry={reload} />
      {value?.webhooks.length === 0 && <p class="soft">This account has no webhooks yet.</p>}
      <ul class="plain stack">
        {value?.webhooks.map((webhook) => (
          <Row key={webhook.id} webhook={webhook} />
        ))}
      </ul>
      <Create
        key={formNumber}
        onCreated={(created) => {
          setSecret(created.secret);
          setFormNumber(formNumber + 1);
          reload();
        }}
      />
      {secret !== undefined && (
        <NewSecret
          what="secret"
          secret={secret}
          onClose={() => {
            setSecret(undefined);
          }}
        />
      )}
    </>
  );
};

/** The webhooks of the account. @param scopes those of the session's key */
export const Webhooks = ({ scopes }: { readonly scopes: readonly Scope[] }) => (
  <Page title="Webhooks">
    {scopes.includes('webhooks:manage') ? (
      <List />
    ) : (
      <p>The key of this session cannot manage webhooks.</p>
    )}
  </Page>
);
