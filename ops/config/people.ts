/** The environment variables of the identity provider and of sign-in to the consoles. */
import { z } from 'zod';
import { installationRole, roleName } from '../../schemas/roles.js';
import { accountName } from '../../schemas/http/keys.js';
import { parseUrl } from '../../schemas/parse-url.js';
import { origin } from './origin.js';
import { ConfigError } from '../platform/errors.js';

/** Names of this machine, on which http is safe. */
const loopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

const issuer = z.string().refine((text) => {
  const url = parseUrl(text);
  if (url?.search !== '' || url.hash !== '' || url.username !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && loopback.test(url.hostname));
}, 'must be an https URL, or an http URL of this machine');

const line = z
  .string()
  .regex(/^[\x20-\x7e]{1,1000}$/, 'must have 1 to 1000 visible ASCII characters');

const decode = (text: string): string | null => {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return null;
    throw error;
  }
};

const readRole = (entry: string) => {
  const [, encoded = '', account, role = ''] =
    /^([^=:]+)=(?:([^=:]+):)?([a-z]+)$/.exec(entry) ?? [];
  const group = decode(encoded);
  if (group === null || group === '') return null;
  if (account === undefined) {
    const found = installationRole.safeParse(role);
    return found.success ? { group, account: '', role: found.data } : null;
  }
  const found = roleName.safeParse(role);
  return found.success && accountName.safeParse(account).success
    ? { group, account, role: found.data }
    : null;
};

const roles = z.string().transform((text, ctx) => {
  const entries = text
    .split(',')
    .map((entry) => ({ entry: entry.trim(), role: readRole(entry.trim()) }));
  const wrong = entries.find(({ role }) => role === null);
  if (wrong) {
    ctx.addIssue(
      `must be <group>=<account>:<role>, <group>=operator or <group>=auditor, separated by commas; this is none: ${wrong.entry}`,
    );
  }
  return entries.flatMap(({ role }) => role ?? []);
});

const ways = z.string().transform((text, ctx) => {
  const given = text.split(',').map((way) => way.trim());
  const known = ['keys', 'oidc'];
  if (!given.every((way) => known.includes(way))) ctx.addIssue('must be keys, oidc or keys,oidc');
  return { keys: given.includes('keys'), oidc: given.includes('oidc') };
});

export const peopleVariables = {
  OIDC_ISSUER: issuer.optional(),
  OIDC_CLIENT_ID: line.optional(),
  OIDC_CLIENT_SECRET: line.optional(),
  OIDC_SCOPES: line
    .refine((text) => text.split(' ').includes('openid'), 'must contain openid')
    .default('openid profile email'),
  OIDC_GROUPS_CLAIM: line.default('groups'),
  OIDC_ROLES: roles.default([]),
  OIDC_SIGN_UP: z
    .enum(['invited', 'personal'], { error: 'must be invited or personal' })
    .default('invited'),
  OIDC_NAME: z
    .string()
    .regex(/^[^\p{Cc}]{1,50}$/u, 'must have 1 to 50 characters')
    .optional(),
  CONSOLE_URL: origin.optional(),
  ADMIN_CONSOLE_URL: origin.optional(),
  CONSOLE_SIGN_IN: ways.default({ keys: true, oidc: true }),
};

type Variables = z.infer<z.ZodObject<typeof peopleVariables>>;

/** @throws ConfigError */
export const signInOf = (vars: Variables) => {
  const { OIDC_ISSUER: url, OIDC_CLIENT_ID: clientId, CONSOLE_SIGN_IN: signIn } = vars;
  if (url === undefined) {
    const needless = (['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'] as const).find((name) => vars[name]);
    if (needless) throw new ConfigError(`${needless} needs OIDC_ISSUER`);
    if (!signIn.keys) throw new ConfigError('CONSOLE_SIGN_IN=oidc needs OIDC_ISSUER');
    return { oidc: null, keys: true };
  }
  if (clientId === undefined) throw new ConfigError('OIDC_ISSUER needs OIDC_CLIENT_ID');
  const settings = {
    ...{ issuer: url, clientId, clientSecret: vars.OIDC_CLIENT_SECRET ?? null },
    ...{ scopes: vars.OIDC_SCOPES, groupsClaim: vars.OIDC_GROUPS_CLAIM.split('.') },
    ...{ roles: vars.OIDC_ROLES, opensAccounts: vars.OIDC_SIGN_UP === 'personal' },
    name: vars.OIDC_NAME ?? new URL(url).host,
  };
  return { oidc: signIn.oidc ? settings : null, keys: signIn.keys };
};
