import { render } from 'preact';
import { LocationProvider, Route, Router } from 'preact-iso/router';
import type { OperatorSession } from '../../../schemas/http/console.js';
import { language } from '../locale.js';
import { texts } from '../texts.js';
import { SessionGate } from './app/session.js';
import { NoPage, Shell } from './app/shell.js';
import { Input } from './components/field.js';
import { richText } from './components/rich-text.js';
import { AllChanges } from './operators/all-changes.js';
import { AllDomains } from './operators/all-domains.js';
import { AllKeys } from './operators/all-keys.js';
import { AllLinks } from './operators/all-links.js';
import { AnyLink } from './operators/any-link.js';
import { Health } from './operators/health.js';
import { Sessions } from './sessions/sessions.js';
import { Platform } from './operators/platform.js';
import { Projections } from './operators/projections.js';

const { common, app: text } = texts;

const pages = [
  ['/console', text.health],
  ['/console/keys', text.keys],
  ['/console/links', common.links],
  ['/console/domains', text.domains],
  ['/console/projections', text.projections],
  ['/console/changes', text.changes],
  ['/console/platform', text.platform],
] as const;

const shortcuts = [
  { keys: '/', path: '/console/links', title: text.search, isSearch: true },
  { keys: 'g h', path: '/console', title: text.health },
  { keys: 'g k', path: '/console/keys', title: text.keys },
  { keys: 'g l', path: '/console/links', title: common.links },
  { keys: 'g c', path: '/console/changes', title: text.changes },
  { keys: 'g p', path: '/console/platform', title: text.platform },
];

const fields = (
  <>
    <Input
      label={text.adminToken}
      name="token"
      type="password"
      required
      hint={richText(text.adminTokenHint, {
        variable: <code>ADMIN_TOKEN</code>,
        file: <code>admin-token</code>,
      })}
    />
    <Input label={text.yourName} name="actor" required maxLength={64} hint={text.yourNameHint} />
  </>
);

const App = () => (
  <LocationProvider scope="/console">
    <SessionGate<OperatorSession>
      fields={fields}
      ownerOf={({ actor }) => actor}
      describe={({ actor }) => actor}
    >
      {({ actor, shortUrlHost }, signOut) => (
        <Shell
          name={text.operators}
          pages={pages}
          shortcuts={shortcuts}
          onSignOut={signOut}
          who={
            <>
              <bdi>{actor}</bdi>
              <br />
              <a href="/console/sessions">{texts.sessions.title}</a>
            </>
          }
        >
          <Router>
            <Route path="/console" component={Health} />
            <Route path="/console/keys" component={AllKeys} />
            <Route path="/console/links" component={AllLinks} shortUrlHost={shortUrlHost} />
            <Route path="/console/links/:code/:tab?" component={AnyLink} />
            <Route path="/console/domains" component={AllDomains} />
            <Route path="/console/projections" component={Projections} />
            <Route path="/console/changes" component={AllChanges} />
            <Route path="/console/sessions" component={Sessions} />
            <Route path="/console/platform" component={Platform} />
            <Route default component={NoPage} />
          </Router>
        </Shell>
      )}
    </SessionGate>
  </LocationProvider>
);

document.documentElement.lang = language;
const root = document.querySelector('#app');
if (root) render(<App />, root);
