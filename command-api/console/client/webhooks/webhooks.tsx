import { useLocation, useRoute } from 'preact-iso/router';
import { useState } from 'preact/hooks';
import type { z } from 'zod';
import type {
  TestedWebhookResponse,
  webhookListResponse,
  WebhookResponse,
} from '../../../../schemas/http/webhooks.js';
import { fromLocalTime } from '../../rules-form.js';
import { texts } from '../../all-texts.js';
import { callApi } from '../app/api.js';
import { useApi, useLoad, useReloadOnReturn } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import { type Action, question, rotation, useActions } from '../components/actions.js';
import { Input, Select, withValue } from '../components/field.js';
import { type Description, ResourceList } from '../components/resource-list.js';
import { richText } from '../components/rich-text.js';
import { Trouble } from '../components/trouble.js';
import { Deliveries, formatAttempt, loadDeliveries, useDeliveryFilter } from './deliveries.js';
import {
  changesOf,
  termsIn,
  WebhookFields,
  WebhookStatus,
  WebhookSummary,
} from './webhook-fields.js';

const { common, webhooks: text } = texts;

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
        <WebhookStatus webhook={webhook} />
      </h2>
      {webhook.description !== null && <bdi>{webhook.description}</bdi>}
    </div>
  ),
  content: <WebhookSummary webhook={webhook} />,
});

export const Webhooks = () => {
  const loaded = useApi<z.infer<typeof webhookListResponse>>('/v2/webhooks');
  useReloadOnReturn(loaded);
  return (
    <Page title={texts.app.webhooks}>
      <ResourceList
        tools={useActions(loaded.reload)}
        loaded={loaded}
        items={loaded.value?.webhooks}
        describe={describe}
        none={text.none}
        create={create}
      />
    </Page>
  );
};

const ReplayFields = () => {
  const [isWhole, setWhole] = useState(false);
  return (
    <>
      <p>{richText(text.replayText, { id: <code>id</code> })}</p>
      <Select
        label={text.eventsSince}
        value="time"
        options={[
          ['time', text.aTime],
          ['start', text.theBeginning],
        ]}
        onChange={withValue((value) => setWhole(value === 'start'))}
      />
      {!isWhole && <Input label={text.dateAndTime} name="since" type="datetime-local" required />}
    </>
  );
};

const actionsOf = (
  webhook: WebhookResponse,
  path: string,
  leave: () => void,
): readonly Action[] => {
  const isEnabled = webhook.status === 'enabled';
  const change = (body: object) => callApi(path, { method: 'PATCH', body });
  return [
    {
      verb: text.test,
      call: async () => {
        const tested = await callApi<TestedWebhookResponse>(`${path}/test`, { method: 'POST' });
        if (!tested.ok || tested.value.delivered) return tested;
        const message = text.testFailed(formatAttempt(tested.value));
        return { ok: false, failure: { kind: 'refused', message, status: tested.status } };
      },
      done: (tested: TestedWebhookResponse) => text.testDelivered(formatAttempt(tested)),
    },
    {
      verb: isEnabled ? text.pause : common.enable,
      call: () => change({ status: isEnabled ? 'paused' : 'enabled' }),
      done: isEnabled ? text.paused : text.enabled,
    },
    {
      verb: common.edit,
      dialog: {
        title: text.editTitle,
        verb: common.save,
        content: <WebhookFields terms={webhook} />,
      },
      call: (data) => {
        const body = changesOf(termsIn(data), webhook);
        return Object.keys(body).length === 0 ? null : change(body);
      },
      done: text.saved,
    },
    rotation('secret', path, {
      verb: text.rotate,
      title: text.rotate,
      content: text.rotateText,
    }),
    {
      verb: text.replay,
      dialog: {
        title: text.replayTitle,
        verb: text.deliverAgain,
        isDanger: true,
        content: <ReplayFields />,
      },
      call: (data) => {
        const since = data.get('since');
        const body = { after: typeof since === 'string' ? fromLocalTime(since) : 'start' };
        return callApi(`${path}/replay`, { method: 'POST', body });
      },
      done: text.replayed,
    },
    {
      verb: common.delete,
      isDanger: true,
      ...question(
        text.deleteTitle,
        <p>{richText(text.deleteText, { url: <bdi>{webhook.url}</bdi> })}</p>,
      ),
      call: () => callApi(path, { method: 'DELETE' }),
      onDone: leave,
    },
  ];
};

const OneWebhook = ({ id }: { readonly id: string }) => {
  const path = `/v2/webhooks/${id}`;
  const { route } = useLocation();
  const { filter } = useDeliveryFilter();
  const webhook = useApi<WebhookResponse>(path);
  const deliveries = useLoad(
    () => loadDeliveries(path, filter),
    `${path} ${JSON.stringify(filter)}`,
  );
  const reload = (): void => {
    webhook.reload();
    deliveries.reload();
  };
  const tools = useActions(reload);
  const isLoading = webhook.isLoading || deliveries.isLoading;
  const failure = webhook.failure ?? deliveries.failure;
  useReloadOnReturn({ value: undefined, failure, isLoading, reload });
  const { value } = webhook;
  const leave = (): void => route('/console/webhooks');
  return (
    <Page title={value ? (value.description ?? new URL(value.url).host) : text.webhook}>
      <Trouble failure={failure} onRetry={reload} />
      {value && (
        <section class="card stack" aria-label={text.theWebhook}>
          <p class="row">
            <span class="long">{value.url}</span> <WebhookStatus webhook={value} />
          </p>
          <WebhookSummary webhook={value} />
          <div class="row" role="group" aria-label={common.actions}>
            {tools.buttons(actionsOf(value, path, leave), '')}
          </div>
          {tools.feedback}
          {tools.dialogs}
        </section>
      )}
      {deliveries.value && (
        <Deliveries path={path} {...deliveries.value} isLoading={isLoading} onReload={reload} />
      )}
    </Page>
  );
};

export const WebhookPage = () => {
  const { id = '' } = useRoute().params;
  // A new key resets the state for another webhook.
  return <OneWebhook key={id} id={id} />;
};
