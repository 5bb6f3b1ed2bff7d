import type { OperatorsPerson } from '../../../../schemas/http/people.js';
import { texts } from '../../texts.js';
import { callApi } from '../app/api.js';
import { fieldsOf, useAddressedPage } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import { type Action, question, useActions } from '../components/actions.js';
import { Select } from '../components/field.js';
import { type Description, nextPage, ResourceList } from '../components/resource-list.js';
import {
  nameOfPerson,
  type PageOf,
  PersonName,
  RoleList,
  RoleSelect,
  seenAt,
} from '../components/roles.js';
import { AccountInput } from './account-input.js';

const { common, people: text } = texts;

const actionsOf = (person: OperatorsPerson): readonly Action[] => {
  const { id, roles, installation } = person;
  const path = (account?: string) =>
    `/admin/people/${id}${account === undefined ? '' : `/roles/${encodeURIComponent(account)}`}`;
  const removable = roles.filter(({ source }) => source !== 'group');
  const isOfProvider = installation !== null || removable.length < roles.length;
  const set: Action = {
    verb: text.setRole,
    dialog: {
      title: text.setRole,
      verb: common.save,
      content: (
        <>
          <AccountInput required defaultValue={removable[0]?.account ?? ''} />
          <RoleSelect {...(removable[0] && { role: removable[0].role })} />
        </>
      ),
    },
    call: (data) => {
      const { account, role } = fieldsOf(data);
      return callApi(path(account), { method: 'PUT', body: { role } });
    },
    done: text.changed,
  };
  const remove: Action = {
    verb: common.remove,
    isDanger: true,
    ...question(
      text.removeTitle(nameOfPerson(person)),
      <>
        <p>{text.removeText}</p>
        <Select
          label={common.account}
          name="account"
          value={removable[0]?.account ?? ''}
          options={[
            ...removable.map(({ account }) => [account, account] as const),
            ...(isOfProvider ? [] : [['', text.allAccounts] as const]),
          ]}
        />
      </>,
    ),
    call: (data) => callApi(path(fieldsOf(data)['account']), { method: 'DELETE' }),
    done: text.removed,
  };
  return removable.length === 0 ? [set] : [set, remove];
};

const describe = (person: OperatorsPerson): Description => ({
  id: person.id,
  name: nameOfPerson(person),
  heading: (
    <PersonName person={person}>
      {person.installation && (
        <span class="badge active">{text.installation[person.installation]}</span>
      )}
    </PersonName>
  ),
  actions: actionsOf(person),
  content: (
    <>
      <ul>
        {person.roles.map(({ account, role, source }) => (
          <li key={account}>
            {account}: {text.roles[role]}. <span class="soft">{text.sources[source]}</span>
          </li>
        ))}
      </ul>
      <p class="soft">
        {seenAt(person)} <code class="long">{person.id}</code>
      </p>
    </>
  ),
});

/** The people of all accounts, page by page. */
export const AllPeople = () => {
  const loaded = useAddressedPage<PageOf<OperatorsPerson>>('/admin/people');
  return (
    <Page title={texts.app.people}>
      <ResourceList
        tools={useActions(loaded.reload)}
        loaded={loaded}
        items={loaded.value?.people}
        describe={describe}
        none={text.none}
        next={nextPage('/console/people', loaded.value)}
      />
      <RoleList />
      <p class="soft">{text.installationHint}</p>
    </Page>
  );
};
