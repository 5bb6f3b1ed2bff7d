import { render } from 'preact';
import { LocationProvider, Route, Router } from 'preact-iso/router';
import { SessionGate } from './app/session.js';
import { NoPage, Shell } from './app/shell.js';
import type { OperatorSession } from './app/types.js';
import { Input } from './components/field.js';
import { AllDomains } from './operators/all-domains.js';
import { AllKeys } from './operators/all-keys.js';
import { AllLinks } from './operators/all-links.js';
import { AnyLink } from './operators/any-link.js';
import { Health } from './operators/health.js';
import { Platform } from './operators/platform.js';
import { Projections } from './operators/projections.js';

const pages = [
  ['/console', 'Health'],
  ['/console/keys', 'Keys'],
  ['/console/links', 'Links'],
  ['/console/domains', 'Domains'],
  ['/console/projections', 'Projections'],
  ['/console/platform', 'Platform'],
] as const;

const fields = (
  <>
    <Input
      label="Admin token"
      name="token"
      type="password"
      required
      hint={
        <>
          <code>ADMIN_TOKEN</code>, or the file <code>admin-token</code> in the data directory.
        </>
      }
    />
    <Input
      label="Your name"
      name="actor"
      required
      maxLength={64}
      hint="Stands beside each change that you make. No spaces."
    />
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
        <Shell name="Operators" pages={pages} onSignOut={signOut} who={<bdi>{actor}</bdi>}>
          <Router>
            <Route path="/console" component={Health} />
            <Route path="/console/keys" component={AllKeys} />
            <Route path="/console/links" component={AllLinks} shortUrlHost={shortUrlHost} />
            <Route path="/console/links/:code/:tab?" component={AnyLink} />
            <Route path="/console/domains" component={AllDomains} />
            <Route path="/console/projections" component={Projections} />
            <Route path="/console/platform" component={Platform} />
            <Route default component={NoPage} />
          </Router>
        </Shell>
      )}
    </SessionGate>
  </LocationProvider>
);

const root = document.querySelector('#app');
if (root) render(<App />, root);
