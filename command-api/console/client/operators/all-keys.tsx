import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { formatDate, formatTime } from '../../format.js';
import { formatNumber } from '../../numbers.js';
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
    <Dialog title="New key" onClose={props.onClose}>
      <form class="stack" onSubmit={submit}>
        <Input label="Name" name="name" required maxLength={100} placeholder="What it is for" />
        <Select label="Plan" name="plan" value="FREE" options={plans} />
        <Input
          label="Account"
          name="account"
          required
          defaultValue="default"
          pattern="[A-Za-z0-9._\-]{1,64}"
          hint="Its links belong to this account."
        />
        <Select label="Ends" name="expiresIn" value="" options={keyLifetimes} />
        <ScopeFields offered={allScopes} chosen={allScopes} />
        <Trouble failure={failure} />
        <button class="primary" aria-disabled={isBusy}>
          Make the key
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
    <Dialog title="Change the key" onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        <Input label="Name" name="name" required maxLength={100} defaultValue={subject.name} />
        <Select
          label="Ends"
          name="expiresIn"
          value={unchanged}
          options={[[unchanged, 'As it is'], ...keyLifetimes]}
        />
        <ScopeFields offered={allScopes} chosen={subject.scopes} />
        <Trouble failure={failure} />
        <button class="primary" aria-disabled={isBusy}>
          Save
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
          <span class="badge">account {account}</span>{' '}
          {rootId !== id && <span class="badge">{plan}</span>}{' '}
          {!active && <span class="badge disabled">switched off</span>}
        </p>
        <div class="row" role="group" aria-label={name}>
          {rootId === id && (
            <select
              class="small"
              aria-label={`Plan of ${name}`}
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
            Change
          </button>
          <button type="button" class="small" onClick={() => void change({ active: !active })}>
            {active ? 'Switch off' : 'Switch on'}
          </button>
          <button
            type="button"
            class="small danger"
            onClick={() => {
              setConfirming(true);
            }}
          >
            Revoke
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
        Made {formatDate(createdAt)}
        {rootId !== id && (
          <>
            {' '}
            with a key below <code class="long">{rootId}</code>
          </>
        )}
        {expiresAt !== null && <>, ends {formatTime(expiresAt)}</>}. This month:{' '}
        {formatNumber(usage.month.calls)} calls, {formatNumber(usage.month.links)} links,{' '}
        {formatNumber(usage.month.qrCodes)} QR codes; this minute: {formatNumber(usage.minute.used)}{' '}
        of {formatNumber(usage.minute.limit)} calls.
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
      {isConfirming && (
        <Confirm
          title="Revoke the key?"
          verb="Revoke"
          call={() => callApi(path, { method: 'DELETE' })}
          onDone={() => {
            setConfirming(false);
            onChanged();
          }}
          onClose={() => {
            setConfirming(false);
          }}
        >
          <p>
            Calls with <bdi>{name}</bdi>, and with the keys that were made with it, are refused from
            now on. This cannot be undone. Its links stay.
          </p>
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
      title="Keys"
      aside={
        <button
          type="button"
          class="primary"
          onClick={() => {
            setCreating(true);
          }}
        >
          New key
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
            Next page
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
