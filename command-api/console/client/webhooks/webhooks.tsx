import type { z } from 'zod';
import type { webhookListResponse, WebhookResponse } from '../../../../schemas/http/webhooks.js';
import { texts } from '../../texts.js';
import { callApi } from '../app/api.js';
import { useApi, useReloadOnReturn } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import { type Action, useActions } from '../components/actions.js';
import { type Description, ResourceList } from '../components/resource-list.js';
import { NeedsScope } from '../app/scopes.js';
import { termsIn, WebhookFields, WebhookSummary } from './webhook-fields.js';

const text = texts.webhooks;

const create: Action = {
  verb: text.create,
  secret: 'secret',
  dialog: { title: text.newWebhook, content: <WebhookFields /> },
  call: (data) => callApi('/v2/webhooks', { method: 'POST', body: termsIn(data) }),
  done: text.created,
};

const describe = (webhook: WebhookResponse): Description => ({
  id: webhook.id,
  heading: (
    <div>
      <h2 class="row">
        <a class="long clamp" href={`/console/webhooks/${webhook.id}`}>
          {webhook.url}
        </a>{' '}
        <span class={`badge ${webhook.status}`}>{text.status[webhook.status]}</span>
      </h2>
      {webhook.description !== null && <bdi>{webhook.description}</bdi>}
    </div>
  ),
  content: <WebhookSummary webhook={webhook} />,
});

const List = () => {
  const loaded = useApi<z.infer<typeof webhookListResponse>>('/v2/webhooks');
  useReloadOnReturn(loaded);
  return (
    <ResourceList
      tools={useActions(loaded.reload)}
      loaded={loaded}
      items={loaded.value?.webhooks}
      describe={describe}
      none={text.none}
      create={create}
    />
  );
};

/** The webhooks of the account. */
export const Webhooks = () => (
  <Page title={texts.app.webhooks}>
    <NeedsScope scope="webhooks:manage">
      <List />
    </NeedsScope>
  </Page>
);
