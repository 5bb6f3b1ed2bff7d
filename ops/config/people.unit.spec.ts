import fc from 'fast-check';
import { expect } from 'chai';
import { roleNames } from '../../schemas/roles.js';
import { ConfigError } from '../platform/errors.js';
import { readConfig } from './config.js';

const provider = { OIDC_ISSUER: 'https://id.example.com', OIDC_CLIENT_ID: 'linklog' };

const signInOf = (env: NodeJS.ProcessEnv) => readConfig({ ...provider, ...env }).signIn;
const settingsOf = (env: NodeJS.ProcessEnv = {}) => {
  const { oidc } = signInOf(env);
  if (!oidc) throw new Error('readConfig() returned no provider');
  return oidc;
};
const rolesOf = (text: string) => settingsOf({ OIDC_ROLES: text }).roles;

describe('configuration: sign-in of people', () => {
  it('is off without OIDC_ISSUER', () => {
    const { signIn, consoleOrigins } = readConfig({});
    expect(signIn).to.deep.equal({ oidc: null, keys: true });
    expect(consoleOrigins).to.deep.equal({ api: null, admin: null });
  });

  it('has the defaults of the contract', () => {
    expect(signInOf({})).to.deep.equal({
      keys: true,
      oidc: {
        ...{ issuer: 'https://id.example.com', clientId: 'linklog', clientSecret: null },
        ...{ scopes: 'openid profile email', groupsClaim: ['groups'], roles: [] },
        ...{ opensAccounts: false, name: 'id.example.com' },
      },
    });
  });

  it('reads every variable', () => {
    const { signIn, consoleOrigins, admin } = readConfig({
      ...{ OIDC_ISSUER: 'https://id.example.com:8443/realms/acme', OIDC_CLIENT_ID: 'links' },
      ...{ OIDC_CLIENT_SECRET: 'a secret', OIDC_SCOPES: 'openid groups' },
      ...{ OIDC_GROUPS_CLAIM: 'realm_access.roles', OIDC_SIGN_UP: 'personal' },
      ...{ OIDC_ROLES: ' admins=acme:admin , ops=operator', OIDC_NAME: 'Büro' },
      ...{ CONSOLE_URL: 'https://Links.example.com/', ADMIN_CONSOLE_URL: 'http://ops:8082' },
      CONSOLE_SIGN_IN: ' oidc ',
    });
    expect(signIn).to.deep.equal({
      keys: false,
      oidc: {
        issuer: 'https://id.example.com:8443/realms/acme',
        ...{ clientId: 'links', clientSecret: 'a secret', scopes: 'openid groups' },
        ...{ groupsClaim: ['realm_access', 'roles'], opensAccounts: true, name: 'Büro' },
        roles: [
          { group: 'admins', account: 'acme', role: 'admin' },
          { group: 'ops', account: '', role: 'operator' },
        ],
      },
    });
    expect(consoleOrigins).to.deep.equal({
      ...{ api: 'https://links.example.com', admin: 'http://ops:8082' },
    });
    expect(admin.names).to.include('ops');
  });

  it('accepts http only for this machine', () => {
    for (const host of ['localhost:8080', '127.0.0.1', '127.1.2.3:1', '[::1]:9']) {
      expect(settingsOf({ OIDC_ISSUER: `http://${host}` }).issuer).to.equal(`http://${host}`);
    }
  });

  it('permits keys, the provider or both', () => {
    expect(signInOf({ CONSOLE_SIGN_IN: 'keys' })).to.deep.equal({ keys: true, oidc: null });
    expect(signInOf({ CONSOLE_SIGN_IN: 'oidc,keys' }).keys).to.equal(true);
    expect(signInOf({ CONSOLE_SIGN_IN: 'oidc' })).to.include({ keys: false });
  });

  describe('OIDC_ROLES', () => {
    it('has roles of accounts and of the installation', () => {
      expect(rolesOf('a=acme:owner,b=shop.eu_1-x:viewer,ops=operator,audit=auditor')).to.deep.equal(
        [
          { group: 'a', account: 'acme', role: 'owner' },
          { group: 'b', account: 'shop.eu_1-x', role: 'viewer' },
          { group: 'ops', account: '', role: 'operator' },
          { group: 'audit', account: '', role: 'auditor' },
        ],
      );
    });

    it('has the groups that were percent-encoded, whatever they contain', () => {
      const group = fc.string({ unit: 'grapheme', minLength: 1 });
      fc.assert(
        fc.property(group, fc.constantFrom(...roleNames), (name, role) => {
          const roles = rolesOf(`x=operator,${encodeURIComponent(name)}=acme:${role}`);
          expect(roles[1]).to.deep.equal({ group: name, account: 'acme', role });
        }),
      );
    });

    it('accepts a path of a group with slashes and spaces', () => {
      expect(rolesOf('/teams/link owners=acme:owner')[0]?.group).to.equal('/teams/link owners');
    });
  });

  const visible = 'must have 1 to 1000 visible ASCII characters';
  const noIssuer = 'must be an https URL, or an http URL of this machine';
  const noOrigin = 'must be a scheme, host and optional port, such as https://go.example.com';
  const noRole = (entry: string): string =>
    'must be <group>=<account>:<role>, <group>=operator or <group>=auditor, separated by ' +
    `commas; this is none: ${entry}`;
  const wrong: readonly (readonly [string, string, string])[] = [
    ...[
      'id.example.com',
      'ftp://id.example.com',
      'http://id.example.com',
      'http://127.0.0.1.example.com',
      'https://user@id.example.com',
      'https://id.example.com?a=b',
      'https://id.example.com/#a',
      'https://',
    ].map((value) => ['OIDC_ISSUER', value, noIssuer] as const),
    ['OIDC_CLIENT_ID', 'a\tb', visible],
    ['OIDC_CLIENT_ID', 'x'.repeat(1_001), visible],
    ['OIDC_CLIENT_SECRET', 'gehëim', visible],
    ['OIDC_SCOPES', 'profile email', 'must contain openid'],
    ['OIDC_SCOPES', 'openid,profile', 'must contain openid'],
    ['OIDC_GROUPS_CLAIM', 'gruppen\n', visible],
    ...[
      'owners',
      'owners=',
      '=acme:owner',
      'a=acme:ownr',
      'a=acme:operator',
      'a=owner',
      'a=acme:Owner',
      'a=two words:owner',
      'a=:owner',
      'a=b=acme:owner',
      'a:b=acme:owner',
      '%=acme:owner',
      '%FF=acme:owner',
      `a=${'x'.repeat(65)}:owner`,
    ].map((entry) => ['OIDC_ROLES', entry, noRole(entry)] as const),
    ['OIDC_ROLES', 'a=operator,,b=operator', noRole('')],
    ['OIDC_ROLES', 'a=operator, c ', noRole('c')],
    ['OIDC_SIGN_UP', 'all', 'must be invited or personal'],
    ['OIDC_NAME', 'x'.repeat(51), 'must have 1 to 50 characters'],
    ['OIDC_NAME', 'a\nb', 'must have 1 to 50 characters'],
    ...['CONSOLE_URL', 'ADMIN_CONSOLE_URL'].flatMap((name) =>
      [
        'links.example.com',
        'ftp://links.example.com',
        'https://links.example.com/console',
        'https://links.example.com?a',
        'https://links.example.com#a',
        'https://user@links.example.com',
        'https://links example.com',
      ].map((value) => [name, value, noOrigin] as const),
    ),
    ...['password', 'keys,', 'oidc;keys', 'OIDC'].map(
      (value) => ['CONSOLE_SIGN_IN', value, 'must be keys, oidc or keys,oidc'] as const,
    ),
  ];
  for (const [name, value, reason] of wrong) {
    it(`rejects ${name}=${JSON.stringify(value.slice(0, 60))}`, () => {
      expect(() => readConfig({ ...provider, [name]: value }))
        .to.throw(ConfigError)
        .with.property('message', `${name} ${reason}`);
    });
  }

  it('rejects variables without those that they need', () => {
    for (const [env, message] of [
      [{ OIDC_ISSUER: provider.OIDC_ISSUER }, 'OIDC_ISSUER needs OIDC_CLIENT_ID'],
      [{ OIDC_CLIENT_ID: 'linklog' }, 'OIDC_CLIENT_ID needs OIDC_ISSUER'],
      [{ OIDC_CLIENT_SECRET: 'a-secret' }, 'OIDC_CLIENT_SECRET needs OIDC_ISSUER'],
      [{ CONSOLE_SIGN_IN: 'oidc' }, 'CONSOLE_SIGN_IN=oidc needs OIDC_ISSUER'],
    ] as const) {
      expect(() => readConfig(env))
        .to.throw(ConfigError)
        .with.property('message', message);
    }
  });
});
