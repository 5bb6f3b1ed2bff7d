import { useContext, useEffect, useState } from 'preact/hooks';
import type {
  AliasOverrideResponse,
  OverridePage,
  PlatformResponse,
} from '../../../../schemas/http/operators.js';
import { callApi } from '../app/api.js';
import { Changes } from '../app/changes.js';
import { withQuery } from '../../link-address.js';
import { fieldsOf, onSubmit, useAction, useApi } from '../app/hooks.js';
import { useOwner } from '../app/owner.js';
import { Page } from '../app/shell.js';
import { formatTime } from '../../format.js';
import { question, useActions, type Action } from '../components/actions.js';
import { Input } from '../components/field.js';
import { ScrollTable } from '../components/tables.js';
import { Trouble } from '../components/trouble.js';
import { texts } from '../../texts.js';

const { common, operators: text } = texts;
const { history: values } = texts.values;

const path = '/admin/platform';

const features = {
  shortening: text.newLinks,
  aliases: text.aliases,
  passwords: text.passwords,
  expiration: text.expiry,
  qr: common.qrCodes,
} as const;

const change = (body: object) => callApi<PlatformResponse>(path, { method: 'PATCH', body });

/** The word that an operator types before all short links stop. */
const confirmingWord = 'maintenance';

const Maintenance = (props: {
  readonly platform: PlatformResponse;
  readonly onSwitched: (platform: PlatformResponse) => void;
}) => {
  const { platform, onSwitched } = props;
  const { checkNow } = useContext(Changes);
  const tools = useActions(() => undefined);
  const onDone = (changed: PlatformResponse): void => {
    onSwitched(changed);
    checkNow();
  };
  const start: Action = {
    verb: text.startMaintenance,
    isDanger: true,
    ...question(
      text.startMaintenance,
      <>
        <p>{text.maintenanceEffect}</p>
        <Input
          label={text.typeWord(confirmingWord)}
          name="word"
          required
          autofocus
          pattern={`\\s*${confirmingWord}\\s*`}
        />
      </>,
    ),
    call: (data) =>
      fieldsOf(data)['word'] === confirmingWord ? change({ maintenance: true }) : null,
    onDone,
  };
  const end: Action = {
    verb: text.endMaintenance,
    call: () => change({ maintenance: false }),
    onDone,
  };
  return (
    <section class="card stack" aria-labelledby="maintenance">
      <h2 id="maintenance">{text.maintenance}</h2>
      <p>{platform.maintenance ? text.maintenanceIsOn : text.maintenanceIsOff}</p>
      {tools.feedback}
      <div class="row">
        {platform.maintenance ? tools.buttons([end], 'primary') : tools.buttons([start], '')}
      </div>
      {tools.dialogs}
    </section>
  );
};

const Switches = () => {
  const { value, failure, reload } = useApi<PlatformResponse>(path);
  const tools = useActions(() => undefined);
  const [switched, setSwitched] = useState<PlatformResponse>();
  useEffect(() => {
    // Another operator may have switched something since.
    setSwitched(undefined);
  }, [value]);
  const platform = switched ?? value;
  if (!platform) return <Trouble failure={failure} onRetry={reload} />;
  const switchOf = (name: keyof typeof features, isOn: boolean): Action => {
    const verb = isOn ? text.switchOn : text.switchOff;
    return {
      verb,
      ...question(text.confirmWork(verb, features[name]), <p>{text.featuresHint}</p>),
      call: () => change({ features: { [name]: isOn } }),
      onDone: setSwitched,
    };
  };
  return (
    <>
      <Maintenance platform={platform} onSwitched={setSwitched} />
      <section class="card stack" aria-labelledby="features">
        <h2 id="features">{text.features}</h2>
        <p class="hint">{text.featuresHint}</p>
        {tools.feedback}
        {(Object.keys(features) as (keyof typeof features)[]).map((name) => (
          <div key={name} class="row" role="group" aria-label={features[name]}>
            {features[name]}: {platform.features[name] ? values.yes : values.no}{' '}
            {tools.buttons([switchOf(name, !platform.features[name])])}
          </div>
        ))}
        {tools.dialogs}
      </section>
    </>
  );
};

const describeOverride = ({ alias, account }: AliasOverrideResponse): string =>
  account === null ? text.revokedAlias(alias) : text.grantedAlias(account, alias);

const Granted = ({ overrides, next, alias }: OverridePage & { readonly alias: string }) =>
  overrides.length === 0 ? (
    <p class="soft">{alias === '' ? text.noneGranted : text.notGranted(alias)}</p>
  ) : (
    <>
      <ScrollTable
        label={text.grantedAliases}
        columns={[common.alias, common.account, text.since]}
        isPreview
      >
        {overrides.map(({ alias, account, since }) => (
          <tr key={alias}>
            <th scope="row">{alias}</th>
            <td>{account}</td>
            <td>{formatTime(since)}</td>
          </tr>
        ))}
      </ScrollTable>
      {next !== null && <p class="hint">{text.moreGranted(overrides.length)}</p>}
    </>
  );

const ReservedAliases = () => {
  const { isReadOnly } = useOwner();
  const { isBusy, failure, run } = useAction();
  const [done, setDone] = useState<AliasOverrideResponse>();
  const [lookedUp, setLookedUp] = useState('');
  const granted = useApi<OverridePage>(
    withQuery('/admin/reserved-aliases', { limit: '1000', alias: lookedUp }),
  );
  const set = async (form: HTMLFormElement, isGiven: boolean): Promise<void> => {
    const { alias = '', account = '' } = fieldsOf(new FormData(form));
    const override = `/admin/reserved-aliases/${encodeURIComponent(alias)}/override`;
    const call = isGiven
      ? ({ method: 'PUT', body: { account } } as const)
      : ({ method: 'DELETE' } as const);
    setDone(undefined);
    const outcome = await run(() => callApi<AliasOverrideResponse>(override, call));
    if (!outcome) return;
    setDone(outcome.value);
    setLookedUp('');
    form.reset();
    granted.reload();
  };
  return (
    <form
      class="card stack"
      onSubmit={onSubmit((_, form) => set(form, true))}
      aria-labelledby="reserved"
    >
      <h2 id="reserved">{text.reservedAliases}</h2>
      <p class="hint">{text.reservedHint}</p>
      <div class="columns">
        <Input label={common.alias} name="alias" required maxLength={50} />
        {!isReadOnly && <Input label={common.account} name="account" required />}
      </div>
      <Trouble failure={failure} />
      <div class="row">
        <button
          type="button"
          onClick={({ currentTarget: { form } }) => {
            setDone(undefined);
            setLookedUp(form ? (fieldsOf(new FormData(form))['alias'] ?? '') : '');
          }}
        >
          {text.lookUp}
        </button>
        {!isReadOnly && (
          <>
            <button aria-disabled={isBusy}>{text.grant}</button>
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
              {text.revokeAlias}
            </button>
          </>
        )}
        <span role="status">{done && describeOverride(done)}</span>
      </div>
      <Trouble failure={granted.failure} onRetry={granted.reload} />
      {granted.value && <Granted {...granted.value} alias={lookedUp} />}
    </form>
  );
};

export const Platform = () => (
  <Page title={texts.app.platform}>
    <Switches />
    <ReservedAliases />
  </Page>
);
