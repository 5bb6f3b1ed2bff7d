import { useState } from 'preact/hooks';
import { fromLocalTime } from '../../rules-form.js';
import { texts } from '../../texts.js';
import { callApi } from '../app/api.js';
import { onSubmit, useAction } from '../app/hooks.js';
import type { Webhook } from '../app/types.js';
import { Confirm } from '../components/confirm.js';
import { Dialog } from '../components/dialog.js';
import { Input, Select } from '../components/field.js';
import { richText } from '../components/rich-text.js';
import { Trouble } from '../components/trouble.js';
import { changesOf, termsIn, WebhookFields } from './webhook-fields.js';

const text = texts.webhooks;

interface Props {
  readonly webhook: Webhook;
  /** The path of the webhook in the API. */
  readonly path: string;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

export const Edit = ({ webhook, path, onClose, onChanged }: Props) => {
  const { isBusy, failure, run } = useAction();
  const submit = onSubmit(async (form) => {
    const body = changesOf(termsIn(form), webhook);
    if (Object.keys(body).length === 0) onClose();
    else if (await run(() => callApi(path, { method: 'PATCH', body }))) onChanged();
  });
  return (
    <Dialog title={text.editTitle} onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        <WebhookFields terms={webhook} />
        <Trouble failure={failure} />
        <button class="primary" aria-disabled={isBusy}>
          {text.save}
        </button>
      </form>
    </Dialog>
  );
};

export const Replay = ({ path, onClose, onChanged }: Props) => {
  const { isBusy, failure, run } = useAction();
  const [isWhole, setWhole] = useState(false);
  const submit = onSubmit(async (form) => {
    const since = new FormData(form).get('since');
    const body = { after: typeof since === 'string' ? fromLocalTime(since) : 'start' };
    if (await run(() => callApi(`${path}/replay`, { method: 'POST', body }))) onChanged();
  });
  return (
    <Dialog title={text.replayTitle} onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        <p>{richText(text.replayText, { id: <code>id</code> })}</p>
        <Select
          label={text.eventsSince}
          value="time"
          options={[
            ['time', text.aTime],
            ['start', text.theBeginning],
          ]}
          onChange={(event) => {
            setWhole(event.currentTarget.value === 'start');
          }}
        />
        {!isWhole && <Input label={text.dateAndTime} name="since" type="datetime-local" required />}
        <Trouble failure={failure} />
        <button class="danger" aria-disabled={isBusy}>
          {text.deliverAgain}
        </button>
      </form>
    </Dialog>
  );
};

export const Delete = ({ webhook, path, onClose, onChanged }: Props) => (
  <Confirm
    title={text.deleteTitle}
    verb={text.delete}
    call={() => callApi(path, { method: 'DELETE' })}
    onDone={onChanged}
    onClose={onClose}
  >
    <p>{richText(text.deleteText, { url: <bdi>{webhook.url}</bdi> })}</p>
  </Confirm>
);
