import type { ConsoleSession } from '../../../schemas/http/console.js';
import { texts } from '../texts.js';
import { Owner } from './app/owner.js';
import { SessionGate } from './app/session.js';
import { Shell, startConsole, type ConsolePage } from './app/shell.js';
import { Input } from './components/field.js';
import { lazy } from './components/lazy.js';
import { OwnDomains } from './components/own-domains.js';
import { richText } from './components/rich-text.js';
import { Domains } from './domains/domains.js';
import { Keys } from './keys/keys.js';
import { LinkPage } from './link/link-page.js';
import { Links } from './links/links.js';
import { Make } from './make/make.js';
import { Overview } from './overview/overview.js';
import { Sessions } from './sessions/sessions.js';
import { WebhookPage, Webhooks } from './webhooks/webhooks.js';

const { common, app: text } = texts;

const Imports = lazy(() => import('./imports/imports.js').then((module) => module.Imports));
const ImportPage = lazy(() => import('./imports/imports.js').then((module) => module.ImportPage));
const Tags = lazy(() => import('./tags/tags.js').then((module) => module.Tags));

const pages: readonly ConsolePage[] = [
  { path: '/console', title: text.overview, component: Overview },
  { path: '/console/links', title: common.links, component: Links, scope: 'links:read' },
  { path: '/console/new', title: common.newLink, component: Make, scope: 'links:create' },
  { path: '/console/imports', title: text.import, component: Imports, scope: 'links:import' },
  { path: '/console/domains', title: text.domains, component: Domains, scope: 'links:read' },
  {
    path: '/console/webhooks',
    title: text.webhooks,
    component: Webhooks,
    scope: 'webhooks:manage',
  },
  { path: '/console/keys', title: text.keys, component: Keys, scope: 'keys:manage' },
  { path: '/docs', title: text.api },
  { path: '/console/tags', component: Tags },
  { path: '/console/links/:code/:tab?', component: LinkPage },
  { path: '/console/imports/:id', component: ImportPage },
  { path: '/console/webhooks/:id', component: WebhookPage },
  { path: '/console/sessions', component: Sessions },
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

startConsole(
  <SessionGate<ConsoleSession>
    fields={keyField}
    ownerOf={({ account, key }) => `${account} ${key.id}`}
    describe={({ account, key }) =>
      richText(text.owner, {
        account: <strong>{account}</strong>,
        key: (
          <strong>
            <bdi>{key.name}</bdi>
          </strong>
        ),
      })
    }
  >
    {({ account, key, upgradeUrl, shortUrlHost }, signOut) => (
      <Owner.Provider
        value={{ scopes: key.scopes, keyId: key.id, plansUrl: upgradeUrl, shortUrlHost }}
      >
        <OwnDomains>
          <Shell name="Linklog" pages={pages} shortcuts={shortcuts} onSignOut={signOut}>
            <bdi>{key.name}</bdi>
            <br />
            <span class="soft">{account}</span>
          </Shell>
        </OwnDomains>
      </Owner.Provider>
    )}
  </SessionGate>,
);
