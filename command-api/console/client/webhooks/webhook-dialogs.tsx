import { useState } from 'preact/hooks';
import { fromLocalTime } from '../../rules-form.js';
import { callApi } from '../app/api.js';
import { onSubmit, useAction } from '../app/hooks.js';
import type { Webhook } from '../app/types.js';
import { Confirm } from '../components/confirm.js';
import { Dialog } from '../components/dialog.js';
import { Input, Select } from '../components/field.js';
import { Trouble } from '../components/trouble.js';
import { changesOf, termsIn, WebhookFields } from './webhook-fields.js';

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
    <Dialog title="Change the webhook" onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        <WebhookFields terms={webhook} />
        <Trouble failure={failure} />
        <button class="primary" aria-disabled={isBusy}>
          Save
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
    <Dialog title="Deliver events again?" onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        <p>
          The receiver gets all events since then again, in new deliveries. It can recognise an
          event by its <code>id</code>.
        </p>
        <Select
          label="Events since"
          value="time"
          options={[
            ['time', 'A date and time'],
            ['start', 'The beginning'],
          ]}
          onChange={(event) => {
            setWhole(event.currentTarget.value === 'start');
          }}
        />
        {!isWhole && <Input label="Date and time" name="since" type="datetime-local" required />}
        <Trouble failure={failure} />
        <button class="danger" aria-disabled={isBusy}>
          Deliver again
        </button>
      </form>
    </Dialog>
  );
};

export const Delete = ({ webhook, path, onClose, onChanged }: Props) => (
  <Confirm
    title="Delete the webhook?"
    verb="Delete"
    call={() => callApi(path, { method: 'DELETE' })}
    onDone={onChanged}
    onClose={onClose}
  >
    <p>
      <bdi>{webhook.url}</bdi> gets no more events, not even those that wait. The list of its
      deliveries is deleted too. This cannot be undone.
    </p>
  </Confirm>
);
