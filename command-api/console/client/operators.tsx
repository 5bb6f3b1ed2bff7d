import type { OperatorSession } from '../../../schemas/http/console.js';
import { texts } from '../texts.js';
import { Owner } from './app/owner.js';
import { SessionGate } from './app/session.js';
import { Shell, startConsole, type ConsolePage } from './app/shell.js';
import { Input } from './components/field.js';
import { richText } from './components/rich-text.js';
import { AllChanges } from './operators/all-changes.js';
import { AllDomains } from './operators/all-domains.js';
import { AllKeys } from './operators/all-keys.js';
import { AllLinks } from './operators/all-links.js';
import { AllPeople } from './operators/all-people.js';
import { AnyLink } from './operators/any-link.js';
import { Health } from './operators/health.js';
import { Platform } from './operators/platform.js';
import { Projections } from './operators/projections.js';
import { Sessions } from './sessions/sessions.js';

const { common, app: text } = texts;

const pages: readonly ConsolePage[] = [
  { path: '/console', title: text.health, component: Health },
  { path: '/console/keys', title: text.keys, component: AllKeys },
  { path: '/console/links', title: common.links, component: AllLinks },
  { path: '/console/domains', title: text.domains, component: AllDomains },
  { path: '/console/people', title: text.people, component: AllPeople },
  { path: '/console/projections', title: text.projections, component: Projections },
  { path: '/console/changes', title: text.changes, component: AllChanges },
  { path: '/console/platform', title: text.platform, component: Platform },
  { path: '/console/links/:code/:tab?', component: AnyLink },
  { path: '/console/sessions', component: Sessions },
];

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

startConsole(
  <SessionGate<OperatorSession>
    fields={fields}
    ownerOf={({ actor, role }) => `${actor} ${role}`}
    describe={({ actor }) => actor}
  >
    {({ actor, shortUrlHost, role }, signOut) => (
      <Owner.Provider
        value={{
          ...{ scopes: [], keyId: null, plansUrl: null, shortUrlHost },
          isReadOnly: role === 'auditor',
        }}
      >
        <Shell name={text.operators} pages={pages} shortcuts={shortcuts} onSignOut={signOut}>
          <bdi>{actor}</bdi>
          {role && <span class="soft"> {texts.people.installation[role]}</span>}
        </Shell>
      </Owner.Provider>
    )}
  </SessionGate>,
);
