import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { launch, stopChild, untilReady } from '../../local/process/child.js';
import { freePort } from '../../local/process/server.js';
import { inheritedEnvironment } from '../../config/config.js';
import { hasCode } from '../../platform/errors.js';
import { projectFile } from '../../platform/files/project-file.js';
import { createLogger } from '../../platform/logging.js';
import { clientId, clientSecret, type Browser } from './identity-provider.js';
import { sendRequest, type HttpResponse } from './http.js';
import type { Product } from './product.js';

/** `npm run test:setup` installs and builds it. */
const dist = '.keycloak/keycloak-26.0.7';

/** What a start of Keycloak needs. */
export const keycloakPrograms = ['java', `${dist}/bin/kc.sh`];

/** 24 s of two idle cores. */
const startMs = 240_000;

const logger = createLogger('silent');
const explain = (error: unknown): unknown => error;

const user = (name: string, roles: object) => ({
  ...{ username: name, enabled: true, emailVerified: true, email: `${name}@example.com` },
  ...{ firstName: name, lastName: 'Test', ...roles },
  credentials: [{ type: 'password', value: `password-of-${name}` }],
});

/** A realm with people in groups and with realm roles. */
const realm = {
  ...{ realm: 'acme', enabled: true, sslRequired: 'none' },
  roles: { realm: [{ name: 'link-owners' }, { name: 'link-auditors' }] },
  groups: [{ name: 'link-editors' }],
  users: [
    user('maria', { realmRoles: ['link-owners', 'link-auditors'], groups: ['/link-editors'] }),
    user('ben', { groups: ['/link-editors'] }),
    user('cleo', {}),
  ],
};

const mapper = (name: string, protocolMapper: string, claim: string, options: object) => ({
  ...{ name, protocol: 'openid-connect', protocolMapper },
  config: { 'claim.name': claim, 'id.token.claim': 'true', 'jsonType.label': 'String', ...options },
});

/** The client, with the addresses of the consoles of a product. */
const clientOf = ({ apis, admins }: Pick<Product, 'apis' | 'admins'>) => {
  const origins = [...apis, ...admins];
  return {
    ...{ clientId, secret: clientSecret, protocol: 'openid-connect', publicClient: false },
    ...{ standardFlowEnabled: true, directAccessGrantsEnabled: false, frontchannelLogout: false },
    redirectUris: origins.map((origin) => `${origin}/console/oidc/callback`),
    attributes: {
      'pkce.code.challenge.method': 'S256',
      'post.logout.redirect.uris': origins.map((origin) => `${origin}/console`).join('##'),
      'backchannel.logout.url': `${apis[0] ?? ''}/console/oidc/logout`,
      'backchannel.logout.session.required': 'true',
    },
    protocolMappers: [
      mapper('groups', 'oidc-group-membership-mapper', 'groups', { 'full.path': 'false' }),
      mapper('roles', 'oidc-usermodel-realm-role-mapper', 'realm_access.roles', {
        multivalued: 'true',
      }),
    ],
  };
};

/** Keycloak on this machine, with `realm`. */
export const startKeycloak = async () => {
  // It writes to its own folder.
  const dir = await mkdtemp(path.join(tmpdir(), 'linklog-keycloak-'));
  await cp(projectFile(dist), dir, { recursive: true });
  await mkdir(path.join(dir, 'data', 'import'), { recursive: true });
  await writeFile(path.join(dir, 'data', 'import', 'acme.json'), JSON.stringify(realm));
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const issuer = `${base}/realms/acme`;
  const child = await launch({
    ...{ name: 'Keycloak', program: 'sh', dir, logFile: path.join(dir, 'log'), logger, explain },
    ...{ tied: true },
    args: [
      ...['bin/kc.sh', 'start', '--optimized', '--cache=local', '--import-realm'],
      ...['--http-enabled=true', '--hostname-strict=false'],
      ...[`--http-port=${port}`, '--http-host=127.0.0.1'],
    ],
    env: {
      ...inheritedEnvironment(),
      ...{ KC_BOOTSTRAP_ADMIN_USERNAME: 'admin', KC_BOOTSTRAP_ADMIN_PASSWORD: 'admin' },
      JAVA_OPTS_KC_HEAP: '-Xms64m -Xmx512m',
    },
  });
  const discovery = `${issuer}/.well-known/openid-configuration`;
  const isReady = async (): Promise<boolean> => {
    try {
      return (await sendRequest(discovery)).status === 200;
    } catch (error) {
      if (hasCode(error, 'ECONNREFUSED', 'ECONNRESET')) return false;
      throw error;
    }
  };
  await untilReady(child, isReady, startMs);

  const admin = async (method: string, resource: string, body?: unknown): Promise<HttpResponse> => {
    const token = await sendRequest(`${base}/realms/master/protocol/openid-connect/token`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: 'grant_type=password&client_id=admin-cli&username=admin&password=admin',
    });
    const { access_token: accessToken } = token.json() as { access_token: string };
    const response = await sendRequest(`${base}/admin/realms/acme${resource}`, {
      ...{ method, headers: { Authorization: `Bearer ${accessToken}` } },
      ...(body !== undefined && { body }),
    });
    if (response.status >= 300) throw new Error(`${method} ${resource}: ${response.text}`);
    return response;
  };

  const idOf = async (name: string): Promise<string> => {
    const found = await admin('GET', `/users?exact=true&username=${name}`);
    const [person] = found.json() as { id: string }[];
    if (!person) throw new Error(`Keycloak has no user ${name}`);
    return person.id;
  };

  return {
    env: {
      ...{ OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret },
    },
    /** Registers the consoles of a product, in place of those of another one. */
    async register(product: Pick<Product, 'apis' | 'admins'>): Promise<void> {
      const found = await admin('GET', `/clients?clientId=${clientId}`);
      for (const { id } of found.json() as { id: string }[])
        await admin('DELETE', `/clients/${id}`);
      await admin('POST', '/clients', clientOf(product));
    },
    /** Opens a page, and fills the form of Keycloak in, if it has one. @returns the last page */
    async signIn(browser: Browser, url: string, name: string) {
      const page = await browser.follow(url);
      const [, action] = /<form[^>]* action="([^"]+)"/.exec(page.text) ?? [];
      if (action === undefined) return page;
      const form = new URLSearchParams({ username: name, password: `password-of-${name}` });
      const response = await browser.get(action.replaceAll('&amp;', '&'), {
        method: 'POST',
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        body: form.toString(),
      });
      const { location } = response.headers;
      return location === undefined
        ? Object.assign(response, { url: action })
        : browser.follow(location);
    },
    /** Ends the sessions of a person, as an administrator does. */
    signOut: async (name: string) => admin('POST', `/users/${await idOf(name)}/logout`),
    disable: async (name: string) => admin('PUT', `/users/${await idOf(name)}`, { enabled: false }),
    async stop(): Promise<void> {
      await stopChild(child);
      await rm(dir, { recursive: true, force: true });
    },
  };
};
