import type { z } from 'zod';
import type { ownKeyPageResponse, OwnKeyResponse } from '../../../../schemas/http/keys.js';
import { formatDate, formatTime } from '../../format.js';
import { presetScopes } from '../../scope-presets.js';
import { texts } from '../../all-texts.js';
import { callApi } from '../app/api.js';
import { useApi } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import { type Action, question, rotation, useActions } from '../components/actions.js';
import { Select } from '../components/field.js';
import { type Description, ResourceList } from '../components/resource-list.js';
import { useOwner } from '../app/owner.js';
import { richText } from '../components/rich-text.js';
import { keyLifetimes, KeyName, ScopeFields, ScopeTags } from './scope-fields.js';

const { common, keys: text } = texts;

const isRoot = ({ id, rootId }: OwnKeyResponse): boolean => id === rootId;

/** What the deactivation of the session's own key means. */
const ownEffectOf = (subject: OwnKeyResponse): string =>
  isRoot(subject) ? text.deactivateOwn : text.deactivateOwnDerived;

/** New keys may have the scopes of the session's key. */
type Owner = Pick<ReturnType<typeof useOwner>, 'scopes' | 'keyId'>;

const actionsOf = (subject: OwnKeyResponse, { scopes, keyId }: Owner): readonly Action[] => {
  const isOwn = subject.id === keyId;
  const path = `/v2/keys/${subject.id}`;
  const change = (body: object) => callApi(path, { method: 'PATCH', body });
  const named = (sentence: string) => richText(sentence, { name: <bdi>{subject.name}</bdi> });
  const ofRoot = isRoot(subject) && <p>{text.revokeRoot}</p>;
  const deactivate: Action = {
    verb: text.deactivate,
    ...question(
      text.deactivateTitle,
      <>
        <p>{isOwn ? ownEffectOf(subject) : named(text.deactivateText)}</p>
        {ofRoot}
      </>,
    ),
    call: () => change({ active: false }),
    done: text.deactivated,
  };
  const activate: Action = {
    verb: text.activate,
    call: () => change({ active: true }),
    done: text.activated,
  };
  return [
    {
      verb: common.edit,
      dialog: {
        title: text.editTitle,
        verb: common.save,
        content: (
          <>
            <KeyName defaultValue={subject.name} />
            <ScopeFields offered={scopes} chosen={subject.scopes} />
          </>
        ),
      },
      call: (data) => change({ name: data.get('name'), scopes: data.getAll('scope') }),
      done: text.saved,
    },
    rotation('key', path, {
      verb: common.rotate,
      title: text.rotateTitle,
      content: named(text.rotateText),
    }),
    ...(subject.suspended || subject.deactivatedAbove
      ? []
      : [subject.active ? deactivate : activate]),
    {
      verb: common.revoke,
      isDanger: true,
      ...question(
        common.revokeTitle,
        <>
          {isOwn && <p>{text.revokeOwn}</p>}
          <p>{named(text.revokeText)}</p>
          {ofRoot}
        </>,
      ),
      call: () => callApi(path, { method: 'DELETE' }),
      done: text.revoked,
      isRemoval: true,
    },
  ];
};

const describe = (subject: OwnKeyResponse, owner: Owner): Description => {
  const { id, name, active, suspended, deactivatedAbove, scopes } = subject;
  const { lastUsedAt, createdAt, expiresAt } = subject;
  const inactive = deactivatedAbove ? text.deactivatedAbove : text.inactive;
  return {
    id,
    name,
    heading: (
      <p>
        <strong>
          <bdi>{name}</bdi>
        </strong>{' '}
        {id === owner.keyId && <span class="badge">{text.own}</span>}{' '}
        {!active && <span class="badge disabled">{suspended ? text.suspended : inactive}</span>}
      </p>
    ),
    actions: actionsOf(subject, owner),
    content: (
      <>
        <ScopeTags scopes={scopes} />
        <p class="soft">
          {[
            text.createdOn(formatDate(createdAt)),
            lastUsedAt === null ? text.notUsed : text.lastUsed(formatTime(lastUsedAt)),
            ...(expiresAt === null ? [] : [text.expiresAt(formatTime(expiresAt))]),
          ].join(', ')}
          .
        </p>
      </>
    ),
  };
};

const create = ({ scopes }: Owner): Action => ({
  verb: text.create,
  secret: 'key',
  dialog: {
    title: common.newKey,
    content: (
      <>
        <div class="columns">
          <KeyName placeholder={common.nameExample} />
          <Select label={common.expires} name="expiresIn" value="" options={keyLifetimes} />
        </div>
        <ScopeFields offered={scopes} chosen={presetScopes('read', scopes)} />
        <p class="hint">{text.sharesLimits}</p>
      </>
    ),
  },
  call: (data) => {
    const expiresIn = Number(data.get('expiresIn'));
    const end = expiresIn > 0 && { expiresIn };
    const body = { name: data.get('name'), scopes: data.getAll('scope'), ...end };
    return callApi('/v2/keys', { method: 'POST', body });
  },
  done: text.created,
});

const List = () => {
  const owner = useOwner();
  const loaded = useApi<z.infer<typeof ownKeyPageResponse>>('/v2/keys');
  return (
    <ResourceList
      tools={useActions(loaded.reload)}
      loaded={loaded}
      items={loaded.value?.keys}
      describe={(subject) => describe(subject, owner)}
      create={create(owner)}
    />
  );
};

/** The key of the session and its descendants. */
export const Keys = () => (
  <Page title={texts.app.keys}>
    <List />
    <p>
      <a href="/console/sessions">{texts.app.sessions}</a>
    </p>
  </Page>
);
