import type { ConsoleSession } from '../../../schemas/http/console.js';
import { texts } from '../texts.js';
import { callApi } from './app/api.js';
import { fieldsOf } from './app/hooks.js';
import { Owner } from './app/owner.js';
import { SessionGate } from './app/session.js';
import { Shell, startConsole, type ConsolePage } from './app/shell.js';
import { type Action, useActions } from './components/actions.js';
import { Input, Select } from './components/field.js';
import { lazyPages } from './components/lazy.js';
import { OwnDomains } from './components/own-domains.js';
import { richText } from './components/rich-text.js';
import { leaveTo } from './components/unsaved.js';
import { Overview } from './overview/overview.js';
import { Palette } from './palette/palette.js';

const { common, app: text } = texts;

const linkPage = lazyPages(() => import('./link-pages.js'));
const laterPage = lazyPages(() => import('./later-pages.js'));

const pages: readonly ConsolePage[] = [
  { path: '/console', title: text.overview, component: Overview },
  { path: '/console/links', ...linkPage('Links', common.links), scope: 'links:read' },
  { path: '/console/new', ...linkPage('Make', common.newLink), scope: 'links:create' },
  { path: '/console/imports', ...laterPage('Imports', text.import), scope: 'links:import' },
  { path: '/console/domains', ...laterPage('Domains', text.domains), scope: 'links:read' },
  { path: '/console/webhooks', ...laterPage('Webhooks', text.webhooks), scope: 'webhooks:manage' },
  { path: '/console/keys', ...laterPage('Keys', text.keys), scope: 'keys:manage' },
  { path: '/console/people', ...laterPage('People', text.people), scope: 'people:read' },
  { path: '/docs', title: text.api },
  { path: '/console/tags', ...laterPage('Tags'), scope: 'links:read' },
  { path: '/console/links/:code/:tab?', ...linkPage('LinkPage') },
  { path: '/console/imports/:id', ...laterPage('ImportPage'), scope: 'links:import' },
  { path: '/console/webhooks/:id', ...laterPage('WebhookPage'), scope: 'webhooks:manage' },
  { path: '/console/sessions', ...laterPage('Sessions') },
];

/** What the command palette offers beside the menu. */
const otherPages: readonly ConsolePage[] = [
  { path: '/console/new?many', title: texts.components.manyLinks, scope: 'links:create' },
  { path: '/console/keys', title: common.newKey, scope: 'keys:manage' },
  { path: '/console/people', title: texts.people.inviteTitle, scope: 'people:manage' },
  { path: '/console/tags', title: common.tags, scope: 'links:read' },
  { path: '/console/sessions', title: text.sessions },
];

const shortcuts = [
  { keys: 'n', path: '/console/new', title: common.newLink },
  { keys: '/', path: '/console/links', title: text.search, isSearch: true },
  { keys: 'g o', path: '/console', title: text.overview },
  { keys: 'g l', path: '/console/links', title: common.links },
  { keys: 'g k', path: '/console/keys', title: text.keys },
];

const keyField = (
  <Input
    label={text.apiKey}
    name="key"
    type="password"
    required
    hint={richText(text.apiKeyHint, {
      prefix: <code>ll_</code>,
      command: <code>linklog console</code>,
    })}
  />
);

type SwitchProps = Pick<ConsoleSession, 'account'> & NonNullable<ConsoleSession['person']>;

/** Moves the session to another account of the person. */
const AccountSwitch = ({ account, accounts }: SwitchProps) => {
  const tools = useActions(() => undefined);
  const choose: Action = {
    verb: account,
    unseen: text.switchAccount,
    dialog: {
      title: text.switchAccount,
      verb: text.switch,
      content: (
        <Select
          label={common.account}
          name="account"
          value={account}
          options={accounts.map(({ account: name, role }) => [
            name,
            `${name} (${texts.people.roles[role]})`,
          ])}
        />
      ),
    },
    call: (data) => callApi('/session', { method: 'PATCH', body: fieldsOf(data) }),
    // Another account must not see the pages of this one.
    onDone: () => leaveTo('/console'),
  };
  return (
    <>
      {tools.buttons([choose])}
      {tools.dialogs}
    </>
  );
};

startConsole(
  <SessionGate<ConsoleSession>
    fields={keyField}
    ownerOf={({ account, key }) => `${account} ${key.id}`}
    describe={({ account, key, person }) =>
      richText(person ? text.person : text.owner, {
        account: <strong>{account}</strong>,
        key: (
          <strong>
            <bdi>{key.name}</bdi>
          </strong>
        ),
      })
    }
  >
    {({ account, key, upgradeUrl, shortUrlHost, person }, signOut) => (
      <Owner.Provider
        value={{
          ...{ scopes: key.scopes, keyId: key.id, plansUrl: upgradeUrl, shortUrlHost },
          isReadOnly: false,
        }}
      >
        <OwnDomains>
          <Shell
            name="Linklog"
            {...{ pages, shortcuts }}
            palette={<Palette pages={[...pages, ...otherPages]} />}
            onSignOut={signOut}
          >
            <bdi>{key.name}</bdi>
            <br />
            {person && person.accounts.length > 1 ? (
              <AccountSwitch account={account} {...person} />
            ) : (
              <span class="soft">{account}</span>
            )}
          </Shell>
        </OwnDomains>
      </Owner.Provider>
    )}
  </SessionGate>,
);
