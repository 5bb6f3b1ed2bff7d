import type { OperatorSession } from '../../../schemas/http/console.js';
import { texts } from '../texts.js';
import { Owner } from './app/owner.js';
import { SessionGate } from './app/session.js';
import { Shell, startConsole, type ConsolePage } from './app/shell.js';
import { Input } from './components/field.js';
import { lazyPages } from './components/lazy.js';
import { richText } from './components/rich-text.js';
import { Palette } from './palette/palette.js';

const { common, app: text } = texts;

const page = lazyPages(() => import('./operators/pages.js'));

const pages: readonly ConsolePage[] = [
  { path: '/console', ...page('Health', text.health) },
  { path: '/console/keys', ...page('AllKeys', text.keys) },
  { path: '/console/links', ...page('AllLinks', common.links) },
  { path: '/console/abuse', ...page('Abuse', text.abuse) },
  { path: '/console/domains', ...page('AllDomains', text.domains) },
  { path: '/console/people', ...page('AllPeople', text.people) },
  { path: '/console/projections', ...page('Projections', text.projections) },
  { path: '/console/changes', ...page('AllChanges', text.changes) },
  { path: '/console/platform', ...page('Platform', text.platform) },
  { path: '/console/links/:code/:tab?', ...page('AnyLink') },
  { path: '/console/sessions', ...page('Sessions') },
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
        <Shell
          name={text.operators}
          {...{ pages, shortcuts }}
          palette={<Palette pages={pages} />}
          onSignOut={signOut}
        >
          <bdi>{actor}</bdi>
          {role && <span class="soft"> {texts.people.installation[role]}</span>}
        </Shell>
      </Owner.Provider>
    )}
  </SessionGate>,
);
