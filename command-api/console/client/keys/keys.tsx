import { useState } from 'preact/hooks';
import type { Scope } from '../../../../schemas/scopes.js';
import { formatDate, formatTime } from '../../format.js';
import { callApi } from '../app/api.js';
import { onSubmit, useAction, useLoad } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import type { CreatedKey, OwnKey } from '../app/types.js';
import { Confirm } from '../components/confirm.js';
import { Dialog } from '../components/dialog.js';
import { Input, Select } from '../components/field.js';
import { Trouble } from '../components/trouble.js';
import { NewSecret } from '../components/new-secret.js';
import { Rotate } from '../components/rotate.js';
import { keyLifetimes, ScopeFields, scopesIn } from './scope-fields.js';

interface ChangeProps {
  readonly subject: OwnKey;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

const Edit = (props: ChangeProps & { readonly scopes: readonly Scope[] }) => {
  const { subject, scopes, onClose, onChanged } = props;
  const { isBusy, failure, run } = useAction();
  const submit = onSubmit(async (form) => {
    const fields = new FormData(form);
    const body = { name: fields.get('name'), scopes: scopesIn(fields) };
    const path = `/v2/keys/${subject.id}`;
    if (await run(() => callApi(path, { method: 'PATCH', body }))) onChanged();
  });
  return (
    <Dialog title="Change the key" onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        <Input label="Name" name="name" required maxLength={100} defaultValue={subject.name} />
        <ScopeFields offered={scopes} chosen={subject.scopes} />
        <Trouble failure={failure} />
        <button class="primary" aria-disabled={isBusy}>
          Save
        </button>
      </form>
    </Dialog>
  );
};

const Revoke = ({ subject, onClose, onChanged }: ChangeProps) => (
  <Confirm
    title="Revoke the key?"
    verb="Revoke"
    call={() => callApi(`/v2/keys/${subject.id}`, { method: 'DELETE' })}
    onDone={onChanged}
    onClose={onClose}
  >
    <p>
      Calls with <bdi>{subject.name}</bdi>, and with the keys that were made with it, are refused
      from now on. This cannot be undone. Its links stay.
    </p>
  </Confirm>
);

const Create = (props: {
  readonly scopes: readonly Scope[];
  readonly onSecret: (secret: string) => void;
}) => {
  const { isBusy, failure, run } = useAction();
  const submit = onSubmit(async (form) => {
    const fields = new FormData(form);
    const expiresIn = Number(fields.get('expiresIn'));
    const body = {
      name: fields.get('name'),
      scopes: scopesIn(fields),
      ...(expiresIn > 0 && { expiresIn }),
    };
    const done = await run(() =>
      callApi<Pick<CreatedKey, 'key'>>('/v2/keys', { method: 'POST', body }),
    );
    if (!done) return;
    form.reset();
    props.onSecret(done.value.key);
  });
  return (
    <form class="card stack" onSubmit={submit} aria-labelledby="new-key">
      <h2 id="new-key">New key</h2>
      <div class="columns">
        <Input label="Name" name="name" required maxLength={100} placeholder="What it is for" />
        <Select label="Ends" name="expiresIn" value="" options={keyLifetimes} />
      </div>
      <ScopeFields offered={props.scopes} chosen={props.scopes} />
      <p class="hint">It shares the limits of the key that you signed in with.</p>
      <Trouble failure={failure} />
      <button class="primary" aria-disabled={isBusy}>
        Make the key
      </button>
    </form>
  );
};

type Opened = { readonly what: 'edit' | 'rotate' | 'revoke'; readonly subject: OwnKey } | null;

const Row = (props: {
  readonly subject: OwnKey;
  readonly isOwn: boolean;
  readonly onOpen: (opened: Opened) => void;
  readonly onSwitch: () => void;
}) => {
  const { subject, isOwn, onOpen, onSwitch } = props;
  const open = (what: 'edit' | 'rotate' | 'revoke') => () => {
    onOpen({ what, subject });
  };
  return (
    <li class="card stack">
      <div class="row spread">
        <p>
          <strong>
            <bdi>{subject.name}</bdi>
          </strong>{' '}
          {isOwn && <span class="badge">this session’s</span>}{' '}
          {!subject.active && <span class="badge disabled">switched off</span>}
        </p>
        <div class="row" role="group" aria-label={subject.name}>
          <button type="button" class="small" onClick={open('edit')}>
            Change
          </button>
          <button type="button" class="small" onClick={open('rotate')}>
            Rotate
          </button>
          <button type="button" class="small" onClick={onSwitch}>
            {subject.active ? 'Switch off' : 'Switch on'}
          </button>
          <button type="button" class="small danger" onClick={open('revoke')}>
            Revoke
          </button>
        </div>
      </div>
      <p>
        {subject.scopes.map((scope) => (
          <code key={scope} class="tag">
            {scope}
          </code>
        ))}
      </p>
      <p class="soft">
        Made {formatDate(subject.createdAt)},{' '}
        {subject.lastUsedAt === null
          ? 'not used yet'
          : `last used ${formatTime(subject.lastUsedAt)}`}
        {subject.expiresAt !== null && <>, ends {formatTime(subject.expiresAt)}</>}.
      </p>
    </li>
  );
};

interface Props {
  /** The scopes of the session's key, which new keys may have. */
  readonly scopes: readonly Scope[];
  readonly ownId: string;
}

/** The key of the session and its descendants. */
export const Keys = ({ scopes, ownId }: Props) => {
  const { value, failure, reload } = useLoad(
    () => callApi<{ readonly keys: readonly OwnKey[] }>('/v2/keys'),
    '',
  );
  const switching = useAction();
  const [opened, setOpened] = useState<Opened>(null);
  const [secret, setSecret] = useState<string>();
  const close = (): void => {
    setOpened(null);
  };
  const closeAndReload = (): void => {
    close();
    reload();
  };
  const showSecret = (key: string): void => {
    close();
    setSecret(key);
  };
  const switchKey = async ({ id, active }: OwnKey): Promise<void> => {
    const body = { active: !active };
    const done = await switching.run(() => callApi(`/v2/keys/${id}`, { method: 'PATCH', body }));
    if (done) reload();
  };
  const dialog = opened && { subject: opened.subject, onClose: close, onChanged: closeAndReload };
  return (
    <Page title="Keys">
      <Trouble failure={failure} onRetry={reload} />
      <Trouble failure={switching.failure} />
      <ul class="plain stack">
        {value?.keys.map((subject) => (
          <Row
            key={subject.id}
            subject={subject}
            isOwn={subject.id === ownId}
            onOpen={setOpened}
            onSwitch={() => void switchKey(subject)}
          />
        ))}
      </ul>
      {value && <Create scopes={scopes} onSecret={showSecret} />}
      {dialog && opened.what === 'edit' && <Edit {...dialog} scopes={scopes} />}
      {dialog && opened.what === 'rotate' && (
        <Rotate<Pick<CreatedKey, 'key'>>
          title="Rotate the key"
          path={`/v2/keys/${opened.subject.id}`}
          onRotated={({ key }) => {
            showSecret(key);
          }}
          onClose={close}
        >
          <bdi>{opened.subject.name}</bdi> gets a new secret, and keeps its id, limits and usage.
        </Rotate>
      )}
      {dialog && opened.what === 'revoke' && <Revoke {...dialog} />}
      {secret !== undefined && (
        <NewSecret
          secret={secret}
          onClose={() => {
            setSecret(undefined);
            // Not before, because the rotated key may be the session's, which ends then.
            reload();
          }}
        />
      )}
    </Page>
  );
};
