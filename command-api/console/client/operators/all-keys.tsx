import type { z } from 'zod';
import type { keyPageResponse, KeyWithUsageResponse } from '../../../../schemas/http/keys.js';
import { formatDate, formatTime } from '../../format.js';
import { texts } from '../../texts.js';
import { callApi } from '../app/api.js';
import { fieldsOf, useAddressedPage } from '../app/hooks.js';
import { useOwner } from '../app/owner.js';
import { Page } from '../app/shell.js';
import { question, useActions, type Action } from '../components/actions.js';
import { Input, Select, withValue } from '../components/field.js';
import { nextPage, ResourceList, type Description } from '../components/resource-list.js';
import { richText } from '../components/rich-text.js';
import { allScopes, keyLifetimes, KeyName, ScopeFields } from '../keys/scope-fields.js';

const { common, operators: text } = texts;

const plans = ['FREE', 'HOBBY', 'INDIE', 'PRO'].map((plan) => [plan, plan] as const);

const unchanged = 'keep';

const create: Action = {
  verb: common.newKey,
  secret: 'key',
  dialog: {
    title: common.newKey,
    verb: text.createKey,
    content: (
      <>
        <KeyName label={text.name} placeholder={common.nameExample} />
        <Select label={text.plan} name="plan" value="FREE" options={plans} />
        <Input
          label={common.account}
          name="account"
          required
          defaultValue="default"
          pattern="[A-Za-z0-9._\-]{1,64}"
          hint={text.keyAccountHint}
        />
        <Select label={common.expires} name="expiresIn" value="" options={keyLifetimes} />
        <ScopeFields offered={allScopes} chosen={allScopes} />
      </>
    ),
  },
  call: (data) => {
    const { expiresIn, name, plan, account } = fieldsOf(data);
    const end = expiresIn !== undefined && { expiresIn: Number(expiresIn) };
    const body = { name, plan, account, scopes: data.getAll('scope'), ...end };
    return callApi('/admin/keys', { method: 'POST', body });
  },
};

const actionsOf = ({ id, name, active, scopes }: KeyWithUsageResponse): readonly Action[] => {
  const path = `/admin/keys/${id}`;
  const change = (body: object) => callApi(path, { method: 'PATCH', body });
  const named = (sentence: string) => <p>{richText(sentence, { name: <bdi>{name}</bdi> })}</p>;
  return [
    {
      verb: text.change,
      dialog: {
        title: text.changeKey,
        verb: common.save,
        content: (
          <>
            <KeyName label={text.name} defaultValue={name} />
            <Select
              label={common.expires}
              name="expiresIn"
              value={unchanged}
              options={[[unchanged, text.unchanged], ...keyLifetimes]}
            />
            <ScopeFields offered={allScopes} chosen={scopes} />
          </>
        ),
      },
      call: (data) => {
        const { name: newName, expiresIn = null } = fieldsOf(data);
        const end = expiresIn !== unchanged && { expiresIn: expiresIn && Number(expiresIn) };
        return change({ name: newName, scopes: data.getAll('scope'), ...end });
      },
    },
    active
      ? {
          verb: text.switchOff,
          ...question(text.switchOffKey, named(text.switchOffEffect)),
          call: () => change({ active: false }),
        }
      : { verb: text.switchOn, call: () => change({ active: true }) },
    {
      verb: common.revoke,
      isDanger: true,
      ...question(common.revokeTitle, named(text.revokeEffect)),
      call: () => callApi(path, { method: 'DELETE' }),
    },
  ];
};

export const AllKeys = () => {
  const loaded = useAddressedPage<z.infer<typeof keyPageResponse>>('/admin/keys');
  const tools = useActions(loaded.reload);
  const { isReadOnly } = useOwner();
  const setPlan = async (id: string, plan: string): Promise<void> => {
    await tools.run(() => callApi(`/admin/keys/${id}`, { method: 'PATCH', body: { plan } }));
    loaded.reload();
  };
  const describe = (subject: KeyWithUsageResponse): Description => {
    const { id, name, plan, account, active, scopes, rootId, createdAt, expiresAt, usage } =
      subject;
    const isRoot = rootId === id;
    return {
      id,
      name,
      heading: (
        <p>
          <strong>
            <bdi>{name}</bdi>
          </strong>{' '}
          <span class="badge">{text.ofAccount(account)}</span>{' '}
          {(!isRoot || isReadOnly) && <span class="badge">{plan}</span>}{' '}
          {!active && <span class="badge disabled">{text.switchedOff}</span>}
        </p>
      ),
      control: isRoot && (
        <select
          class="small"
          aria-label={text.planOf(name)}
          aria-disabled={tools.isBusy}
          onChange={withValue((value) => void setPlan(id, value))}
        >
          {plans.map(([value]) => (
            <option key={value} selected={value === plan}>
              {value}
            </option>
          ))}
        </select>
      ),
      actions: actionsOf(subject),
      content: (
        <>
          <p>
            {scopes.map((scope) => (
              <code key={scope} class="tag">
                {scope}
              </code>
            ))}
          </p>
          <p class="soft">
            {richText(isRoot ? text.keyCreated : text.keyDerived, {
              date: formatDate(createdAt),
              root: <code class="long">{rootId}</code>,
            })}{' '}
            {expiresAt !== null && `${text.keyEnds(formatTime(expiresAt))} `}
            {text.usage(usage.month, usage.minute)}
          </p>
          <p class="soft">
            <code class="long">{id}</code>
          </p>
        </>
      ),
    };
  };
  return (
    <Page title={texts.app.keys} aside={tools.buttons([create], 'primary')}>
      <ResourceList
        tools={tools}
        loaded={loaded}
        items={loaded.value?.keys}
        describe={describe}
        next={nextPage('/console/keys', loaded.value)}
      />
    </Page>
  );
};
