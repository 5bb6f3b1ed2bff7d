import { useState } from 'preact/hooks';
import type { Scope } from '../../../../schemas/scopes.js';
import { texts } from '../../texts.js';
import { callApi } from '../app/api.js';
import { onSubmit, useAction, useLoad, useReloadOnReturn } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import type { Webhook, WebhookWithSecret } from '../app/types.js';
import { Trouble } from '../components/trouble.js';
import { NeedsScope } from '../components/needs-scope.js';
import { NewSecret } from '../components/new-secret.js';
import { useNotice } from '../components/notice.js';
import { termsIn, WebhookFields } from './webhook-fields.js';
import { WebhookSummary } from './webhook-summary.js';

const text = texts.webhooks;

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
      <h2 id="new-webhook">{text.newWebhook}</h2>
      <WebhookFields />
      <Trouble failure={failure} />
      <button class="primary" aria-disabled={isBusy}>
        {text.create}
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
        <span class={`badge ${webhook.status}`}>{text.status[webhook.status]}</span>
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
  const { notice, announce } = useNotice();
  return (
    <>
      {notice}
      <Trouble failure={failure} onRetry={reload} />
      {value?.webhooks.length === 0 && <p class="soft">{text.none}</p>}
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
          kind="secret"
          secret={secret}
          onClose={() => {
            setSecret(undefined);
            announce(text.created, true);
          }}
        />
      )}
    </>
  );
};

/** The webhooks of the account. @param scopes those of the session's key */
export const Webhooks = ({ scopes }: { readonly scopes: readonly Scope[] }) => (
  <Page title={texts.app.webhooks}>
    {scopes.includes('webhooks:manage') ? <List /> : <NeedsScope scope="webhooks:manage" />}
  </Page>
);
