import { useLocation } from 'preact-iso/router';
import { useState } from 'preact/hooks';
import { callApi } from '../app/api.js';
import { useAction } from '../app/hooks.js';
import type { TestedWebhook, Webhook, WebhookWithSecret } from '../app/types.js';
import { NewSecret } from '../components/new-secret.js';
import { Rotate } from '../components/rotate.js';
import { Trouble } from '../components/trouble.js';
import { formatAttempt } from './deliveries.js';
import { Delete, Edit, Replay } from './webhook-dialogs.js';

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
  const [tested, setTested] = useState<TestedWebhook>();
  const isEnabled = webhook.status === 'enabled';
  const open = (what: Opened) => () => {
    setOpened(what);
  };
  const close = open(null);
  const dialog = { webhook, path, onClose: close };
  const closeAndReload = (): void => {
    close();
    onChanged();
  };
  const toggle = async (): Promise<void> => {
    const body = { status: isEnabled ? 'paused' : 'enabled' };
    if (await run(() => callApi(path, { method: 'PATCH', body }))) onChanged();
  };
  const test = async (): Promise<void> => {
    setTested(undefined);
    const done = await run(() => callApi<TestedWebhook>(`${path}/test`, { method: 'POST' }));
    setTested(done?.value);
  };
  return (
    <>
      <div class="row" role="group" aria-label="Actions">
        <button type="button" aria-disabled={isBusy} onClick={() => void test()}>
          Test
        </button>
        <button type="button" aria-disabled={isBusy} onClick={() => void toggle()}>
          {isEnabled ? 'Pause' : 'Enable'}
        </button>
        <button type="button" onClick={open('edit')}>
          Change
        </button>
        <button type="button" onClick={open('rotate')}>
          Rotate the secret
        </button>
        <button type="button" onClick={open('replay')}>
          Replay
        </button>
        <button type="button" class="danger" onClick={open('delete')}>
          Delete
        </button>
      </div>
      <Trouble failure={failure} />
      <p role="status">
        {tested &&
          `Test ${tested.delivered ? 'delivered' : 'not delivered'}: ${formatAttempt(tested)}.`}
      </p>
      {opened === 'edit' && <Edit {...dialog} onChanged={closeAndReload} />}
      {opened === 'replay' && <Replay {...dialog} onChanged={closeAndReload} />}
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
          title="Rotate the secret"
          path={path}
          onRotated={(rotated) => {
            close();
            setSecret(rotated.secret);
          }}
          onClose={close}
        >
          Deliveries are signed with a new secret, and until the old one ends with both.
        </Rotate>
      )}
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
