import { render } from 'preact';
import { LocationProvider, Route, Router } from 'preact-iso/router';
import type { ConsoleSession } from '../../../schemas/http/console.js';
import type { Scope } from '../../../schemas/scopes.js';
import { language } from '../locale.js';
import { texts } from '../texts.js';
import { Scopes } from './app/scopes.js';
import { SessionGate } from './app/session.js';
import { NoPage, Shell } from './app/shell.js';
import { Input } from './components/field.js';
import { lazy } from './components/lazy.js';
import { OwnDomains } from './components/own-domains.js';
import { richText } from './components/rich-text.js';
import { PlansUrl } from './components/trouble.js';
import { Domains } from './domains/domains.js';
import { ImportPage, Imports } from './imports/imports.js';
import { Keys } from './keys/keys.js';
import { LinkPage } from './link/link-page.js';
import { Links } from './links/links.js';
import { Make } from './make/make.js';
import { Overview } from './overview/overview.js';
import { Sessions } from './sessions/sessions.js';
import { WebhookPage } from './webhooks/webhook-page.js';
import { Webhooks } from './webhooks/webhooks.js';

const { common, app: text } = texts;

const Tags = lazy(() => import('./tags/tags.js').then((module) => module.Tags));

const pages = [
  ['/console', text.overview],
  ['/console/links', common.links],
  ['/console/new', common.newLink],
  ['/console/imports', text.import],
  ['/console/domains', text.domains],
  ['/console/webhooks', text.webhooks],
  ['/console/keys', text.keys],
  ['/docs', text.api],
] as const;

const shortcuts = [
  { keys: 'n', path: '/console/new', title: common.newLink },
  { keys: '/', path: '/console/links', title: text.search, isSearch: true },
  { keys: 'g o', path: '/console', title: text.overview },
  { keys: 'g l', path: '/console/links', title: common.links },
  { keys: 'g k', path: '/console/keys', title: text.keys },
];

/** The scope that a page needs; the pages that are not named need none. */
const neededScopes: Readonly<Record<string, Scope>> = {
  '/console/links': 'links:read',
  '/console/new': 'links:create',
  '/console/imports': 'links:import',
  '/console/domains': 'links:read',
  '/console/webhooks': 'webhooks:manage',
  '/console/keys': 'keys:manage',
};

const isAllowed = (path: string, scopes: readonly Scope[]): boolean => {
  const needed = neededScopes[path];
  return needed === undefined || scopes.includes(needed);
};

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

const App = () => (
  <LocationProvider scope="/console">
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
        <Shell
          name="Linklog"
          pages={pages.filter(([path]) => isAllowed(path, key.scopes))}
          shortcuts={shortcuts.filter(({ path }) => isAllowed(path, key.scopes))}
          onSignOut={signOut}
          who={
            <>
              <bdi>{key.name}</bdi>
              <br />
              <span class="soft">{account}</span>
              <br />
              <a href="/console/sessions">{texts.sessions.title}</a>
            </>
          }
        >
          <Scopes.Provider value={key.scopes}>
            <PlansUrl.Provider value={upgradeUrl}>
              <OwnDomains>
                <Router>
                  <Route path="/console" component={Overview} upgradeUrl={upgradeUrl} />
                  <Route path="/console/new" component={Make} shortUrlHost={shortUrlHost} />
                  <Route path="/console/links" component={Links} shortUrlHost={shortUrlHost} />
                  <Route path="/console/tags" component={Tags} />
                  <Route path="/console/links/:code/:tab?" component={LinkPage} />
                  <Route path="/console/imports" component={Imports} />
                  <Route path="/console/imports/:id" component={ImportPage} />
                  <Route path="/console/domains" component={Domains} />
                  <Route path="/console/webhooks" component={Webhooks} />
                  <Route path="/console/webhooks/:id" component={WebhookPage} />
                  <Route path="/console/keys" component={Keys} ownId={key.id} />
                  <Route path="/console/sessions" component={Sessions} />
                  <Route default component={NoPage} />
                </Router>
              </OwnDomains>
            </PlansUrl.Provider>
          </Scopes.Provider>
        </Shell>
      )}
    </SessionGate>
  </LocationProvider>
);

document.documentElement.lang = language;
const root = document.querySelector('#app');
if (root) render(<App />, root);
