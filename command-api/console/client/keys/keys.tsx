import { useState } from 'preact/hooks';
import type { Scope } from '../../../../schemas/scopes.js';
import { formatDate, formatTime } from '../../format.js';
import { presetScopes } from '../../scope-presets.js';
import { texts } from '../../texts.js';
import { callApi } from '../app/api.js';
import { onSubmit, useAction, useLoad } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import type { CreatedKey, OwnKey } from '../app/types.js';
import { Confirm } from '../components/confirm.js';
import { Dialog } from '../components/dialog.js';
import { Input, Select } from '../components/field.js';
import { Trouble } from '../components/trouble.js';
import { NeedsScope } from '../components/needs-scope.js';
import { NewSecret } from '../components/new-secret.js';
import { useNotice } from '../components/notice.js';
import { richText } from '../components/rich-text.js';
import { Rotate } from '../components/rotate.js';
import { keyLifetimes, ScopeFields, scopesIn, ScopeTags } from './scope-fields.js';

const text = texts.keys;

interface ChangeProps {
  readonly subject: OwnKey;
  /** Whether it is the key of the session. */
  readonly isOwn: boolean;
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
    <Dialog title={text.editTitle} onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        <Input label={text.name} name="name" required maxLength={100} defaultValue={subject.name} />
        <ScopeFields offered={scopes} chosen={subject.scopes} />
        <Trouble failure={failure} />
        <button class="primary" aria-disabled={isBusy}>
          {text.save}
        </button>
      </form>
    </Dialog>
  );
};

const nameIn = (sentence: string, { name }: OwnKey) =>
  richText(sentence, { name: <bdi>{name}</bdi> });

const isRoot = ({ id, rootId }: OwnKey): boolean => id === rootId;

/** What the deactivation of the session's own key means. */
const ownEffectOf = (subject: OwnKey): string =>
  isRoot(subject) ? text.deactivateOwn : text.deactivateOwnDerived;

const Deactivate = ({ subject, isOwn, onClose, onChanged }: ChangeProps) => (
  <Confirm
    title={text.deactivateTitle}
    verb={text.deactivate}
    call={() => callApi(`/v2/keys/${subject.id}`, { method: 'PATCH', body: { active: false } })}
    onDone={onChanged}
    onClose={onClose}
  >
    <p>{isOwn ? ownEffectOf(subject) : nameIn(text.deactivateText, subject)}</p>
    {isRoot(subject) && <p>{text.revokeRoot}</p>}
  </Confirm>
);

const Revoke = ({ subject, isOwn, onClose, onChanged }: ChangeProps) => (
  <Confirm
    title={text.revokeTitle}
    verb={text.revoke}
    call={() => callApi(`/v2/keys/${subject.id}`, { method: 'DELETE' })}
    onDone={onChanged}
    onClose={onClose}
  >
    {isOwn && <p>{text.revokeOwn}</p>}
    <p>{nameIn(text.revokeText, subject)}</p>
    {isRoot(subject) && <p>{text.revokeRoot}</p>}
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
    if (done) props.onSecret(done.value.key);
  });
  return (
    <form class="card stack" onSubmit={submit} aria-labelledby="new-key">
      <h2 id="new-key">{text.newKey}</h2>
      <div class="columns">
        <Input
          label={text.name}
          name="name"
          required
          maxLength={100}
          placeholder={text.nameExample}
        />
        <Select label={text.expires} name="expiresIn" value="" options={keyLifetimes} />
      </div>
      <ScopeFields offered={props.scopes} chosen={presetScopes('read', props.scopes)} />
      <p class="hint">{text.sharesLimits}</p>
      <Trouble failure={failure} />
      <button class="primary" aria-disabled={isBusy}>
        {text.create}
      </button>
    </form>
  );
};

type What = 'edit' | 'rotate' | 'deactivate' | 'revoke';
type Opened = { readonly what: What; readonly subject: OwnKey } | null;

const Row = (props: {
  readonly subject: OwnKey;
  readonly isOwn: boolean;
  readonly onOpen: (opened: Opened) => void;
  readonly onActivate: () => void;
}) => {
  const { subject, isOwn, onOpen, onActivate } = props;
  const { name, active, lastUsedAt, createdAt, expiresAt } = subject;
  const open = (what: What) => () => {
    onOpen({ what, subject });
  };
  return (
    <li class="card stack">
      <div class="row spread">
        <p>
          <strong>
            <bdi>{name}</bdi>
          </strong>{' '}
          {isOwn && <span class="badge">{text.own}</span>}{' '}
          {!active && <span class="badge disabled">{text.inactive}</span>}
        </p>
        <div class="row" role="group" aria-label={name}>
          <button type="button" class="small" onClick={open('edit')}>
            {text.edit}
          </button>
          <button type="button" class="small" onClick={open('rotate')}>
            {text.rotate}
          </button>
          <button type="button" class="small" onClick={active ? open('deactivate') : onActivate}>
            {active ? text.deactivate : text.activate}
          </button>
          <button type="button" class="small danger" onClick={open('revoke')}>
            {text.revoke}
          </button>
        </div>
      </div>
      <ScopeTags scopes={subject.scopes} />
      <p class="soft">
        {[
          text.createdOn(formatDate(createdAt)),
          lastUsedAt === null ? text.notUsed : text.lastUsed(formatTime(lastUsedAt)),
          ...(expiresAt === null ? [] : [text.expiresAt(formatTime(expiresAt))]),
        ].join(', ')}
        .
      </p>
    </li>
  );
};

interface Props {
  /** The scopes of the session's key, which new keys may have. */
  readonly scopes: readonly Scope[];
  readonly ownId: string;
}

const List = ({ scopes, ownId }: Props) => {
  const { value, failure, reload } = useLoad(
    () => callApi<{ readonly keys: readonly OwnKey[] }>('/v2/keys'),
    '',
  );
  const activating = useAction();
  const { notice, announce } = useNotice();
  const [opened, setOpened] = useState<Opened>(null);
  const [secret, setSecret] = useState<string>();
  /** A new number resets the form. */
  const [formNumber, setFormNumber] = useState(0);
  const close = (): void => {
    setOpened(null);
  };
  const done =
    (message: string, isRemoved = false) =>
    (): void => {
      close();
      announce(message, isRemoved);
      reload();
    };
  const showSecret = (key: string): void => {
    close();
    setSecret(key);
  };
  const activate = async ({ id }: OwnKey): Promise<void> => {
    const call = { method: 'PATCH', body: { active: true } } as const;
    if (await activating.run(() => callApi(`/v2/keys/${id}`, call))) done(text.activated)();
  };
  const dialog = opened && {
    subject: opened.subject,
    isOwn: opened.subject.id === ownId,
    onClose: close,
  };
  return (
    <>
      {notice}
      <Trouble failure={failure} onRetry={reload} />
      <Trouble failure={activating.failure} />
      <ul class="plain stack">
        {value?.keys.map((subject) => (
          <Row
            key={subject.id}
            subject={subject}
            isOwn={subject.id === ownId}
            onOpen={setOpened}
            onActivate={() => void activate(subject)}
          />
        ))}
      </ul>
      {value && (
        <Create
          key={formNumber}
          scopes={scopes}
          onSecret={(key) => {
            showSecret(key);
            setFormNumber(formNumber + 1);
            announce(text.created);
          }}
        />
      )}
      {dialog && opened.what === 'edit' && (
        <Edit {...dialog} scopes={scopes} onChanged={done(text.saved)} />
      )}
      {dialog && opened.what === 'rotate' && (
        <Rotate<Pick<CreatedKey, 'key'>>
          title={text.rotateTitle}
          path={`/v2/keys/${opened.subject.id}`}
          onRotated={({ key }) => {
            showSecret(key);
          }}
          onClose={close}
        >
          {nameIn(text.rotateText, opened.subject)}
        </Rotate>
      )}
      {dialog && opened.what === 'deactivate' && (
        <Deactivate {...dialog} onChanged={done(text.deactivated)} />
      )}
      {dialog && opened.what === 'revoke' && (
        <Revoke {...dialog} onChanged={done(text.revoked, true)} />
      )}
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
    </>
  );
};

/** The key of the session and its descendants. */
export const Keys = (props: Props) => (
  <Page title={texts.app.keys}>
    {props.scopes.includes('keys:manage') ? (
      <List {...props} />
    ) : (
      <NeedsScope scope="keys:manage" />
    )}
    <p>
      <a href="/console/sessions">{texts.sessions.title}</a>
    </p>
  </Page>
);
