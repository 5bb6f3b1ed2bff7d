import { useState } from 'preact/hooks';
import type { z } from 'zod';
import type { OperatorSession } from '../../../../schemas/http/console.js';
import type { keyPageResponse, KeyWithUsageResponse } from '../../../../schemas/http/keys.js';
import { formatDate, formatLimit, formatTime } from '../../format.js';
import { texts } from '../../all-texts.js';
import { callApi } from '../app/api.js';
import { fieldsOf, useAddressedPage, useApi } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import { question, useActions, type Action } from '../components/actions.js';
import { Select, withValue } from '../components/field.js';
import { nextPage, ResourceList, type Description } from '../components/resource-list.js';
import { richText } from '../components/rich-text.js';
import { TableHead } from '../components/tables.js';
import { Trouble } from '../components/trouble.js';
import { allScopes, keyLifetimes, KeyName, ScopeFields } from '../keys/scope-fields.js';
import { AccountInput } from './account-input.js';

const { common, operators: text } = texts;

const plans = ['FREE', 'HOBBY', 'INDIE', 'PRO'].map((plan) => [plan, plan] as const);

const limits = {
  requestsPerMinute: text.callsPerMinute,
  monthlyCalls: texts.overview.calls,
  monthlyLinks: common.links,
  monthlyQrCodes: common.qrCodes,
  domains: texts.app.domains,
} as const;

type Plan = KeyWithUsageResponse['plan'];

/** The choice of a plan, with the limits of the current and the chosen one. */
const PlanFields = ({ current }: { readonly current: Plan }) => {
  const { value, failure, reload } = useApi<OperatorSession>('/session');
  const [chosen, setChosen] = useState(current);
  const compared = [...new Set([current, chosen])];
  return (
    <>
      <Select
        label={text.plan}
        name="plan"
        value={chosen}
        options={plans}
        onChange={withValue((plan) => setChosen(plan as Plan))}
      />
      <Trouble failure={failure} onRetry={reload} />
      {value && (
        <table>
          <TableHead columns={[text.limits, ...compared.map((number) => ({ number }))]} />
          <tbody>
            {(Object.keys(limits) as (keyof typeof limits)[]).map((limit) => (
              <tr key={limit}>
                <th scope="row">{limits[limit]}</th>
                {compared.map((plan) => (
                  <td key={plan} class="number">
                    {formatLimit(value.plans[plan][limit])}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
};

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
        <AccountInput required defaultValue="default" hint={text.keyAccountHint} />
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

const actionsOf = (key: KeyWithUsageResponse): readonly Action[] => {
  const { id, name, active, plan, rootId, scopes } = key;
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
    ...(rootId === id
      ? [
          {
            verb: text.changePlan,
            dialog: {
              title: text.planOf(name),
              verb: common.save,
              content: <PlanFields current={plan} />,
            },
            call: (data: FormData) => {
              const { plan: chosen } = fieldsOf(data);
              return chosen === plan ? null : change({ plan: chosen });
            },
          },
        ]
      : []),
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
  const describe = (subject: KeyWithUsageResponse): Description => {
    const { id, name, plan, account, active, scopes, rootId, createdAt, expiresAt, usage } =
      subject;
    return {
      id,
      name,
      heading: (
        <p>
          <strong>
            <bdi>{name}</bdi>
          </strong>{' '}
          <span class="badge">{text.ofAccount(account)}</span> <span class="badge">{plan}</span>{' '}
          {!active && <span class="badge disabled">{text.switchedOff}</span>}
        </p>
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
            {richText(rootId === id ? text.keyCreated : text.keyDerived, {
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
