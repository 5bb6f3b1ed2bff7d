import { render } from 'preact';
import { LocationProvider, Route, Router } from 'preact-iso/router';
import { language } from '../locale.js';
import { texts } from '../texts.js';
import { SessionGate } from './app/session.js';
import { NoPage, Shell } from './app/shell.js';
import type { ConsoleSession } from './app/types.js';
import { Input } from './components/field.js';
import { OwnDomains } from './components/own-domains.js';
import { richText } from './components/rich-text.js';
import { Domains } from './domains/domains.js';
import { ImportPage } from './imports/import-page.js';
import { Imports } from './imports/imports.js';
import { Keys } from './keys/keys.js';
import { LinkPage } from './link/link-page.js';
import { Links } from './links/links.js';
import { Make } from './make/make.js';
import { Overview } from './overview/overview.js';
import { Sessions } from './sessions/sessions.js';
import { WebhookPage } from './webhooks/webhook-page.js';
import { Webhooks } from './webhooks/webhooks.js';

const text = texts.app;

const pages = [
  ['/console', text.overview],
  ['/console/links', text.links],
  ['/console/new', text.newLink],
  ['/console/imports', text.import],
  ['/console/domains', text.domains],
  ['/console/webhooks', text.webhooks],
  ['/console/keys', text.keys],
  ['/docs', text.api],
] as const;

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
          pages={pages}
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
          <OwnDomains canRead={key.scopes.includes('links:read')}>
            <Router>
              <Route
                path="/console"
                component={Overview}
                upgradeUrl={upgradeUrl}
                scopes={key.scopes}
              />
              <Route path="/console/new" component={Make} shortUrlHost={shortUrlHost} />
              <Route path="/console/links" component={Links} shortUrlHost={shortUrlHost} />
              <Route path="/console/links/:code/:tab?" component={LinkPage} scopes={key.scopes} />
              <Route path="/console/imports" component={Imports} scopes={key.scopes} />
              <Route path="/console/imports/:id" component={ImportPage} scopes={key.scopes} />
              <Route path="/console/domains" component={Domains} scopes={key.scopes} />
              <Route path="/console/webhooks" component={Webhooks} scopes={key.scopes} />
              <Route path="/console/webhooks/:id" component={WebhookPage} scopes={key.scopes} />
              <Route path="/console/keys" component={Keys} scopes={key.scopes} ownId={key.id} />
              <Route path="/console/sessions" component={Sessions} />
              <Route default component={NoPage} />
            </Router>
          </OwnDomains>
        </Shell>
      )}
    </SessionGate>
  </LocationProvider>
);

document.documentElement.lang = language;
const root = document.querySelector('#app');
if (root) render(<App />, root);
