import { useContext, useEffect, useState } from 'preact/hooks';
import type {
  AliasOverrideResponse,
  OverridePage,
  PlatformResponse,
} from '../../../../schemas/http/operators.js';
import { callApi } from '../app/api.js';
import { Changes } from '../app/changes.js';
import { withQuery } from '../../link-address.js';
import { fieldsOf, onSubmit, useApi } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import { formatTime } from '../../format.js';
import { question, useActions, type Action } from '../components/actions.js';
import { Input } from '../components/field.js';
import { ScrollTable } from '../components/tables.js';
import { Trouble } from '../components/trouble.js';
import { texts } from '../../all-texts.js';
import { AccountInput } from './account-input.js';

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

const overrideOf = (alias: string): string =>
  `/admin/reserved-aliases/${encodeURIComponent(alias)}/override`;

const allow = (alias: string): Action => ({
  verb: `${text.grant} …`,
  unseen: alias,
  dialog: {
    title: text.allowAlias(alias),
    verb: text.grant,
    content: <AccountInput required />,
  },
  call: (data) => {
    const { account } = fieldsOf(data);
    return callApi(overrideOf(alias), { method: 'PUT', body: { account } });
  },
  done: describeOverride,
});

const disallow = (alias: string): Action => ({
  verb: text.revokeAlias,
  unseen: alias,
  isRemoval: true,
  ...question(text.reserveAgain(alias), <p>{text.reservedHint}</p>),
  call: () => callApi(overrideOf(alias), { method: 'DELETE' }),
  done: describeOverride,
});

const ReservedAliases = () => {
  const [alias, setAlias] = useState('');
  const query = { limit: '1000', alias };
  const { value, failure, reload } = useApi<OverridePage>(
    withQuery('/admin/reserved-aliases', query),
  );
  const tools = useActions(reload);
  const lookUp = onSubmit((data) => {
    setAlias(fieldsOf(data)['alias'] ?? '');
    return undefined;
  });
  return (
    <section class="card stack" aria-labelledby="reserved">
      <h2 id="reserved">{text.reservedAliases}</h2>
      <p class="hint">
        {text.reservedWords} {text.reservedHint}
      </p>
      <form class="picker" onSubmit={lookUp}>
        <Input label={text.lookUp} name="alias" type="search" maxLength={50} />
        <button>{common.search}</button>
      </form>
      {tools.feedback}
      <Trouble failure={failure} onRetry={reload} />
      {value?.overrides.length === 0 && (
        <p class="row">
          {value.reserved === undefined
            ? text.noneGranted
            : (value.reserved ? text.notGranted : text.notReserved)(alias)}{' '}
          {value.reserved === true && tools.buttons([allow(alias)])}
        </p>
      )}
      {value && value.overrides.length > 0 && (
        <ScrollTable
          label={text.grantedAliases}
          columns={[common.alias, common.account, text.since, common.actions]}
          isPreview
        >
          {value.overrides.map((override) => (
            <tr key={override.alias}>
              <th scope="row">{override.alias}</th>
              <td>{override.account}</td>
              <td>{formatTime(override.since)}</td>
              <td>{tools.buttons([disallow(override.alias)])}</td>
            </tr>
          ))}
        </ScrollTable>
      )}
      {value?.next != null && <p class="hint">{text.moreGranted(value.overrides.length)}</p>}
      {tools.dialogs}
    </section>
  );
};

export const Platform = () => (
  <Page title={texts.app.platform}>
    <Switches />
    <ReservedAliases />
  </Page>
);
