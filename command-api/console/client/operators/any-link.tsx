import { useState } from 'preact/hooks';
import { useLocation, useRoute } from 'preact-iso/router';
import { callApi } from '../app/api.js';
import { fieldsOf, onSubmit, useAction } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import { History } from '../components/history.js';
import { Input } from '../components/field.js';
import { Trouble } from '../components/trouble.js';

/** Of any account: operators know a link by its code. */
export const FindLink = () => {
  const { route } = useLocation();
  const submit = onSubmit((form) => {
    const { code } = fieldsOf(form);
    if (code !== undefined) route(`/console/links/${encodeURIComponent(code)}`);
    return undefined;
  });
  return (
    <Page title="Links">
      <form class="card stack" role="search" onSubmit={submit}>
        <Input label="Short code" name="code" required pattern="[A-Za-z0-9_\-]{3,50}" />
        <button class="primary">Show its history</button>
      </form>
    </Page>
  );
};

const Block = (props: { readonly path: string; readonly onChanged: () => void }) => {
  const { isBusy, failure, run } = useAction();
  const submit =
    (verb: 'block' | 'unblock') =>
    async (form: HTMLFormElement | null): Promise<void> => {
      if (!form?.reportValidity()) return;
      const body = fieldsOf(form);
      if (!(await run(() => callApi(`${props.path}/${verb}`, { method: 'POST', body })))) return;
      form.reset();
      props.onChanged();
    };
  return (
    <form class="card stack" onSubmit={onSubmit(submit('block'))}>
      <Input label="Reason" name="reason" required maxLength={500} hint="Stands in the history." />
      <Trouble failure={failure} />
      <div class="row">
        <button class="danger" aria-disabled={isBusy}>
          Block
        </button>
        <button
          type="button"
          aria-disabled={isBusy}
          onClick={(event) => void submit('unblock')(event.currentTarget.form)}
        >
          Unblock
        </button>
      </div>
    </form>
  );
};

/** What was done to a link, and what can be done about it. */
export const AnyLink = () => {
  const { code = '' } = useRoute().params;
  const [changes, setChanges] = useState(0);
  const path = `/admin/links/${encodeURIComponent(code)}`;
  return (
    <Page key={code} title={code}>
      <Block
        path={path}
        onChanged={() => {
          setChanges((before) => before + 1);
        }}
      />
      <h2>History</h2>
      <History key={changes} path={`${path}/history`} />
    </Page>
  );
};
