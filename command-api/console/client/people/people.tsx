import type { SignInWays } from '../../../../schemas/http/console.js';
import type { InvitationResponse, PersonResponse } from '../../../../schemas/http/people.js';
import { formatTime } from '../../format.js';
import { texts } from '../../all-texts.js';
import { callApi, send } from '../app/api.js';
import { fieldsOf, useAddressedPage, useApi, useLoad } from '../app/hooks.js';
import { useOwner, useScope } from '../app/owner.js';
import { Page } from '../app/shell.js';
import { type Action, question, useActions } from '../components/actions.js';
import { Check, Input } from '../components/field.js';
import { type Description, nextPage, ResourceList } from '../components/resource-list.js';
import {
  nameOfPerson,
  type PageOf,
  PersonName,
  RoleList,
  RoleSelect,
  seenAt,
} from '../components/roles.js';

const { common, keys, people: text } = texts;

const actionsOf = (person: PersonResponse): readonly Action[] => {
  const path = `/v2/people/${person.id}`;
  return [
    {
      verb: text.changeRole,
      dialog: {
        title: text.changeRole,
        verb: common.save,
        content: <RoleSelect role={person.role} />,
      },
      call: (data) => {
        const body = fieldsOf(data);
        return body['role'] === person.role ? null : callApi(path, { method: 'PATCH', body });
      },
      done: text.changed,
    },
    {
      verb: common.remove,
      isDanger: true,
      ...question(
        text.removeTitle(nameOfPerson(person)),
        <>
          <p>{text.removeText}</p>
          <Check name="revokeKeys" value="1" label={text.revokeKeys} />
        </>,
      ),
      call: (data) =>
        callApi(data.has('revokeKeys') ? `${path}?revokeKeys=1` : path, { method: 'DELETE' }),
      done: text.removed,
      isRemoval: true,
    },
  ];
};

const describeInvitation = ({ id, role, email, expiresAt }: InvitationResponse): Description => {
  const name = email ?? text.anyPerson;
  return {
    id,
    name,
    heading: (
      <p>
        <bdi>{name}</bdi> <span class="badge">{text.roles[role]}</span>
      </p>
    ),
    actions: [
      {
        verb: text.withdraw,
        isDanger: true,
        call: () => callApi(`/v2/people/invitations/${id}`, { method: 'DELETE' }),
        done: text.withdrawn,
        isRemoval: true,
      },
    ],
    content: <p class="soft">{keys.expiresAt(formatTime(expiresAt))}</p>,
  };
};

const invite: Action = {
  verb: text.invite,
  secret: 'url',
  secretUse: text.inviteUse,
  dialog: {
    title: text.inviteTitle,
    content: (
      <div class="columns">
        <RoleSelect />
        <Input label={text.email} name="email" type="email" maxLength={254} hint={text.emailHint} />
      </div>
    ),
  },
  call: (data) => callApi('/v2/people/invitations', { method: 'POST', body: fieldsOf(data) }),
};

const Invitations = () => {
  const loaded = useApi<{ readonly invitations: readonly InvitationResponse[] }>(
    '/v2/people/invitations',
  );
  return (
    <>
      <h2>{text.invitations}</h2>
      <ResourceList
        tools={useActions(loaded.reload)}
        loaded={loaded}
        items={loaded.value?.invitations}
        describe={describeInvitation}
        none={text.noInvitations}
        create={invite}
      />
    </>
  );
};

/** The people of the account, and its invitations. */
export const People = () => {
  const loaded = useAddressedPage<PageOf<PersonResponse>>('/v2/people');
  const ways = useLoad(() => send<SignInWays>('/session/ways'), '');
  const hasNoProvider = ways.value?.oidc === null;
  const { keyId } = useOwner();
  const canManage = useScope('people:manage');
  const describe = (person: PersonResponse): Description => ({
    id: person.id,
    name: nameOfPerson(person),
    heading: (
      <PersonName person={person}>
        <span class="badge">{text.roles[person.role]}</span>{' '}
        {person.id === keyId && <span class="badge active">{text.you}</span>}
      </PersonName>
    ),
    ...(canManage && person.source !== 'group' && { actions: actionsOf(person) }),
    content: (
      <p class="soft">
        {text.sources[person.source]} {seenAt(person)}
      </p>
    ),
  });
  return (
    <Page title={texts.app.people}>
      <ResourceList
        tools={useActions(loaded.reload)}
        loaded={loaded}
        items={loaded.value?.people}
        describe={describe}
        none={hasNoProvider ? text.noProvider : text.none}
        next={nextPage('/console/people', loaded.value)}
      />
      {canManage && !hasNoProvider && <Invitations />}
      <RoleList />
    </Page>
  );
};
