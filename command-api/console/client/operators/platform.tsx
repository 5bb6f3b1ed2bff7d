import { useState } from 'preact/hooks';
import { callApi } from '../app/api.js';
import { fieldsOf, onSubmit, useAction, useLoad } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import type { AliasOverride, PlatformResponse } from '../app/types.js';
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

const Switch = (props: {
  readonly label: string;
  readonly isOn: boolean;
  /** The body of the PATCH that switches it. */
  readonly bodyOf: (isOn: boolean) => object;
  readonly onSwitched: (platform: PlatformResponse) => void;
}) => {
  const { label, isOn, bodyOf, onSwitched } = props;
  const { isBusy, failure, run } = useAction();
  const change = async (): Promise<void> => {
    const body = bodyOf(!isOn);
    const done = await run(() => callApi<PlatformResponse>(path, { method: 'PATCH', body }));
    if (done) onSwitched(done.value);
  };
  return (
    <>
      <label class="check">
        <input
          type="checkbox"
          checked={isOn !== isBusy}
          aria-disabled={isBusy}
          onChange={() => void change()}
        />
        {label}
      </label>
      <Trouble failure={failure} />
    </>
  );
};

const Switches = () => {
  const loaded = useLoad(() => callApi<PlatformResponse>(path), '');
  const [switched, setSwitched] = useState<PlatformResponse>();
  const platform = switched ?? loaded.value;
  if (!platform) return <Trouble failure={loaded.failure} onRetry={loaded.reload} />;
  return (
    <>
      <section class="card" aria-labelledby="maintenance">
        <h2 id="maintenance">Maintenance</h2>
        <Switch
          label="The API and all short links answer 503"
          isOn={platform.maintenance}
          bodyOf={(maintenance) => ({ maintenance })}
          onSwitched={setSwitched}
        />
      </section>
      <section class="card" aria-labelledby="features">
        <h2 id="features">Features</h2>
        {(Object.keys(features) as Feature[]).map((name) => (
          <Switch
            key={name}
            label={features[name]}
            isOn={platform.features[name]}
            bodyOf={(isOn) => ({ features: { [name]: isOn } })}
            onSwitched={setSwitched}
          />
        ))}
        <p class="hint">What is made already goes on working.</p>
      </section>
    </>
  );
};

const describeOverride = ({ alias, account }: AliasOverride): string =>
  account === null ? `No account may use ${alias} any more.` : `${account} may use ${alias} now.`;

const ReservedAliases = () => {
  const { isBusy, failure, run } = useAction();
  const [done, setDone] = useState<AliasOverride>();
  const set = async (form: HTMLFormElement, isGiven: boolean): Promise<void> => {
    const { alias = '', account = '' } = fieldsOf(form);
    const override = `/admin/reserved-aliases/${encodeURIComponent(alias)}/override`;
    const call = isGiven
      ? ({ method: 'PUT', body: { account } } as const)
      : ({ method: 'DELETE' } as const);
    setDone(undefined);
    const outcome = await run(() => callApi<AliasOverride>(override, call));
    if (!outcome) return;
    setDone(outcome.value);
    form.reset();
  };
  return (
    <form
      class="card stack"
      onSubmit={onSubmit((form) => set(form, true))}
      aria-labelledby="reserved"
    >
      <h2 id="reserved">Reserved aliases</h2>
      <p class="hint">No account can use these names, unless you give one to an account.</p>
      <div class="columns">
        <Input label="Alias" name="alias" required />
        <Input label="Account" name="account" required />
      </div>
      <Trouble failure={failure} />
      <div class="row">
        <button aria-disabled={isBusy}>Give it</button>
        <button
          type="button"
          aria-disabled={isBusy}
          onClick={({ currentTarget: { form } }) => {
            // The account is not required.
            const alias = form?.elements.namedItem('alias');
            if (form && alias instanceof HTMLInputElement && alias.reportValidity()) {
              void set(form, false);
            }
          }}
        >
          Take it back
        </button>
        <span role="status">{done && describeOverride(done)}</span>
      </div>
    </form>
  );
};

/** The switches of the platform. */
export const Platform = () => (
  <Page title="Platform">
    <Switches />
    <ReservedAliases />
  </Page>
);
