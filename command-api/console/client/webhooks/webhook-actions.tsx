import { useLocation } from 'preact-iso/router';
import { useState } from 'preact/hooks';
import { texts } from '../../texts.js';
import { callApi } from '../app/api.js';
import { useAction } from '../app/hooks.js';
import type { TestedWebhook, Webhook, WebhookWithSecret } from '../app/types.js';
import { NewSecret } from '../components/new-secret.js';
import { useNotice } from '../components/notice.js';
import { Rotate } from '../components/rotate.js';
import { Trouble } from '../components/trouble.js';
import { formatAttempt } from './deliveries.js';
import { Delete, Edit, Replay } from './webhook-dialogs.js';

const text = texts.webhooks;

type Opened = 'edit' | 'rotate' | 'replay' | 'delete' | null;

interface Props {
  readonly webhook: Webhook;
  /** The path of the webhook in the API. */
  readonly path: string;
  readonly onChanged: () => void;
}

/** Tests and changes a webhook. */
export const WebhookActions = ({ webhook, path, onChanged }: Props) => {
  const { isBusy, failure, run } = useAction();
  const { route } = useLocation();
  const [opened, setOpened] = useState<Opened>(null);
  const [secret, setSecret] = useState<string>();
  const { notice, announce } = useNotice();
  const isEnabled = webhook.status === 'enabled';
  const open = (what: Opened) => () => {
    setOpened(what);
  };
  const close = open(null);
  const dialog = { webhook, path, onClose: close };
  const done = (message: string) => (): void => {
    close();
    announce(message);
    onChanged();
  };
  const toggle = async (): Promise<void> => {
    const body = { status: isEnabled ? 'paused' : 'enabled' };
    if (await run(() => callApi(path, { method: 'PATCH', body }))) {
      done(isEnabled ? text.paused : text.enabled)();
    }
  };
  const test = async (): Promise<void> => {
    announce('');
    const tested = await run(() => callApi<TestedWebhook>(`${path}/test`, { method: 'POST' }));
    if (!tested) return;
    const { value } = tested;
    announce((value.delivered ? text.testDelivered : text.testFailed)(formatAttempt(value)));
  };
  return (
    <>
      <div class="row" role="group" aria-label={text.actions}>
        <button type="button" aria-disabled={isBusy} onClick={() => void test()}>
          {text.test}
        </button>
        <button type="button" aria-disabled={isBusy} onClick={() => void toggle()}>
          {isEnabled ? text.pause : text.enable}
        </button>
        <button type="button" onClick={open('edit')}>
          {text.edit}
        </button>
        <button type="button" onClick={open('rotate')}>
          {text.rotate}
        </button>
        <button type="button" onClick={open('replay')}>
          {text.replay}
        </button>
        <button type="button" class="danger" onClick={open('delete')}>
          {text.delete}
        </button>
      </div>
      <Trouble failure={failure} />
      {notice}
      {opened === 'edit' && <Edit {...dialog} onChanged={done(text.saved)} />}
      {opened === 'replay' && <Replay {...dialog} onChanged={done(text.replayed)} />}
      {opened === 'delete' && (
        <Delete
          {...dialog}
          onChanged={() => {
            route('/console/webhooks');
          }}
        />
      )}
      {opened === 'rotate' && (
        <Rotate<WebhookWithSecret>
          title={text.rotate}
          path={path}
          onRotated={(rotated) => {
            close();
            setSecret(rotated.secret);
          }}
          onClose={close}
        >
          {text.rotateText}
        </Rotate>
      )}
      {secret !== undefined && (
        <NewSecret
          kind="secret"
          secret={secret}
          onClose={() => {
            setSecret(undefined);
          }}
        />
      )}
    </>
  );
};
