import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { formatDate, formatTime } from '../../format.js';
import { callApi } from '../app/api.js';
import { fieldsOf, onSubmit, useAction, useLoad } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import type { AnyKey, AnyKeyPage, CreatedKey } from '../app/types.js';
import { Confirm } from '../components/confirm.js';
import { Dialog } from '../components/dialog.js';
import { Input, Select } from '../components/field.js';
import { Trouble } from '../components/trouble.js';
import { NewSecret } from '../components/new-secret.js';
import { allScopes, keyLifetimes, ScopeFields, scopesIn } from '../keys/scope-fields.js';
import { texts } from '../../texts.js';
import { richText } from '../components/rich-text.js';

const text = texts.operators;

const plans = ['FREE', 'HOBBY', 'INDIE', 'PRO'].map((plan) => [plan, plan] as const);

const Create = (props: {
  readonly onSecret: (secret: string) => void;
  readonly onClose: () => void;
}) => {
  const { isBusy, failure, run } = useAction();
  const submit = onSubmit(async (form) => {
    const { expiresIn, name, plan, account } = fieldsOf(form);
    const scopes = scopesIn(new FormData(form));
    const end = expiresIn !== undefined && { expiresIn: Number(expiresIn) };
    const body = { name, plan, account, scopes, ...end };
    const done = await run(() => callApi<CreatedKey>('/admin/keys', { method: 'POST', body }));
    if (done) props.onSecret(done.value.key);
  });
  return (
    <Dialog title={text.newKey} onClose={props.onClose}>
      <form class="stack" onSubmit={submit}>
        <Input
          label={text.name}
          name="name"
          required
          maxLength={100}
          placeholder={text.keyNameExample}
        />
        <Select label={text.plan} name="plan" value="FREE" options={plans} />
        <Input
          label={text.account}
          name="account"
          required
          defaultValue="default"
          pattern="[A-Za-z0-9._\-]{1,64}"
          hint={text.keyAccountHint}
        />
        <Select label={text.ends} name="expiresIn" value="" options={keyLifetimes} />
        <ScopeFields offered={allScopes} chosen={allScopes} />
        <Trouble failure={failure} />
        <button class="primary" aria-disabled={isBusy}>
          {text.createKey}
        </button>
      </form>
    </Dialog>
  );
};

const unchanged = 'keep';

const Edit = (props: {
  readonly subject: AnyKey;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}) => {
  const { subject, onClose, onChanged } = props;
  const { isBusy, failure, run } = useAction();
  const submit = onSubmit(async (form) => {
    const { name, expiresIn = null } = fieldsOf(form);
    const end = expiresIn !== unchanged && { expiresIn: expiresIn && Number(expiresIn) };
    const body = { name, scopes: scopesIn(new FormData(form)), ...end };
    const path = `/admin/keys/${subject.id}`;
    if (await run(() => callApi(path, { method: 'PATCH', body }))) onChanged();
  });
  return (
    <Dialog title={text.changeKey} onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        <Input label={text.name} name="name" required maxLength={100} defaultValue={subject.name} />
        <Select
          label={text.ends}
          name="expiresIn"
          value={unchanged}
          options={[[unchanged, text.unchanged], ...keyLifetimes]}
        />
        <ScopeFields offered={allScopes} chosen={subject.scopes} />
        <Trouble failure={failure} />
        <button class="primary" aria-disabled={isBusy}>
          {text.save}
        </button>
      </form>
    </Dialog>
  );
};

const Row = (props: { readonly subject: AnyKey; readonly onChanged: () => void }) => {
  const { subject, onChanged } = props;
  const { id, name, plan, account, active, scopes, rootId, createdAt, expiresAt, usage } = subject;
  const path = `/admin/keys/${id}`;
  const changing = useAction();
  const [isConfirming, setConfirming] = useState(false);
  const [isSwitchingOff, setSwitchingOff] = useState(false);
  const [isEditing, setEditing] = useState(false);
  const change = async (body: object): Promise<void> => {
    await changing.run(() => callApi(path, { method: 'PATCH', body }));
    onChanged();
  };
  return (
    <li class="card stack">
      <div class="row spread">
        <p>
          <strong>
            <bdi>{name}</bdi>
          </strong>{' '}
          <span class="badge">{text.ofAccount(account)}</span>{' '}
          {rootId !== id && <span class="badge">{plan}</span>}{' '}
          {!active && <span class="badge disabled">{text.switchedOff}</span>}
        </p>
        <div class="row" role="group" aria-label={name}>
          {rootId === id && (
            <select
              class="small"
              aria-label={text.planOf(name)}
              aria-disabled={changing.isBusy}
              onChange={(event) => void change({ plan: event.currentTarget.value })}
            >
              {plans.map(([value]) => (
                <option key={value} selected={value === plan}>
                  {value}
                </option>
              ))}
            </select>
          )}
          <button
            type="button"
            class="small"
            onClick={() => {
              setEditing(true);
            }}
          >
            {text.change}
          </button>
          <button
            type="button"
            class="small"
            onClick={() => {
              if (active) setSwitchingOff(true);
              else void change({ active: true });
            }}
          >
            {active ? text.switchOff : text.switchOn}
          </button>
          <button
            type="button"
            class="small danger"
            onClick={() => {
              setConfirming(true);
            }}
          >
            {text.revoke}
          </button>
        </div>
      </div>
      <Trouble failure={changing.failure} />
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
      {isEditing && (
        <Edit
          subject={subject}
          onClose={() => {
            setEditing(false);
          }}
          onChanged={() => {
            setEditing(false);
            onChanged();
          }}
        />
      )}
      {isSwitchingOff && (
        <Confirm
          title={text.switchOffKey}
          verb={text.switchOff}
          call={() => callApi(path, { method: 'PATCH', body: { active: false } })}
          onDone={() => {
            setSwitchingOff(false);
            onChanged();
          }}
          onClose={() => {
            setSwitchingOff(false);
          }}
        >
          <p>{richText(text.switchOffEffect, { name: <bdi>{name}</bdi> })}</p>
        </Confirm>
      )}
      {isConfirming && (
        <Confirm
          title={text.revokeKey}
          verb={text.revoke}
          call={() => callApi(path, { method: 'DELETE' })}
          onDone={() => {
            setConfirming(false);
            onChanged();
          }}
          onClose={() => {
            setConfirming(false);
          }}
        >
          <p>{richText(text.revokeEffect, { name: <bdi>{name}</bdi> })}</p>
        </Confirm>
      )}
    </li>
  );
};

/** The keys of all accounts, page by page. */
export const AllKeys = () => {
  const { query } = useLocation();
  const path = `/admin/keys?${new URLSearchParams(query).toString()}`;
  const { value, failure, reload } = useLoad(() => callApi<AnyKeyPage>(path), path);
  const [isCreating, setCreating] = useState(false);
  const [secret, setSecret] = useState<string>();
  return (
    <Page
      title={texts.app.keys}
      aside={
        <button
          type="button"
          class="primary"
          onClick={() => {
            setCreating(true);
          }}
        >
          {text.newKey}
        </button>
      }
    >
      <Trouble failure={failure} onRetry={reload} />
      <ul class="plain stack">
        {value?.keys.map((subject) => (
          <Row key={subject.id} subject={subject} onChanged={reload} />
        ))}
      </ul>
      {value?.next != null && (
        <p>
          <a class="button" href={`/console/keys?after=${value.next}`}>
            {texts.components.nextPage}
          </a>
        </p>
      )}
      {isCreating && (
        <Create
          onClose={() => {
            setCreating(false);
          }}
          onSecret={(key) => {
            setCreating(false);
            setSecret(key);
            reload();
          }}
        />
      )}
      {secret !== undefined && (
        <NewSecret
          secret={secret}
          onClose={() => {
            setSecret(undefined);
          }}
        />
      )}
    </Page>
  );
};
