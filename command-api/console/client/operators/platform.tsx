import { callApi } from '../app/api.js';
import { fieldsOf, onSubmit, useAction, useLoad } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import type { PlatformResponse } from '../app/types.js';
import { Input } from '../components/field.js';
import { Trouble } from '../components/trouble.js';

const path = '/admin/platform';

const features = {
  shortening: 'New links',
  aliases: 'Aliases',
  passwords: 'Passwords',
  expiration: 'Expiry',
  qr: 'QR codes',
} as const;
type Feature = keyof typeof features;

const Switches = () => {
  const { value, failure, reload } = useLoad(() => callApi<PlatformResponse>(path), '');
  const action = useAction();
  const change = async (body: object): Promise<void> => {
    await action.run(() => callApi(path, { method: 'PATCH', body }));
    // Also after a failure: the boxes show what is.
    reload();
  };
  if (!value) return <Trouble failure={failure} onRetry={reload} />;
  return (
    <>
      <Trouble failure={action.failure ?? failure} />
      <section class="card" aria-labelledby="maintenance">
        <h2 id="maintenance">Maintenance</h2>
        <label class="check">
          <input
            type="checkbox"
            checked={value.maintenance}
            disabled={action.isBusy}
            onChange={(event) => void change({ maintenance: event.currentTarget.checked })}
          />
          The API and all short links answer 503
        </label>
      </section>
      <section class="card" aria-labelledby="features">
        <h2 id="features">Features</h2>
        {(Object.keys(features) as Feature[]).map((name) => (
          <label key={name} class="check">
            <input
              type="checkbox"
              checked={value.features[name]}
              disabled={action.isBusy}
              onChange={(event) =>
                void change({ features: { [name]: event.currentTarget.checked } })
              }
            />
            {features[name]}
          </label>
        ))}
        <p class="hint">What is made already goes on working.</p>
      </section>
    </>
  );
};

const ReservedAliases = () => {
  const { isBusy, failure, run } = useAction();
  const submit = onSubmit(async (form) => {
    const { alias = '', account } = fieldsOf(form);
    const override = `/admin/reserved-aliases/${encodeURIComponent(alias)}/override`;
    const call =
      account === undefined
        ? ({ method: 'DELETE' } as const)
        : ({ method: 'PUT', body: { account } } as const);
    if (await run(() => callApi(override, call))) form.reset();
  });
  return (
    <form class="card stack" onSubmit={submit} aria-labelledby="reserved">
      <h2 id="reserved">Reserved aliases</h2>
      <div class="columns">
        <Input label="Alias" name="alias" required />
        <Input label="Account" name="account" hint="May use it. Empty: nobody may any more." />
      </div>
      <Trouble failure={failure} />
      <button disabled={isBusy}>Save</button>
    </form>
  );
};

/** What is switched on and off for everybody. */
export const Platform = () => (
  <Page title="Platform">
    <Switches />
    <ReservedAliases />
  </Page>
);
