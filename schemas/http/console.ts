import { z } from 'zod';
import { requestParts, responseParts } from '../components.js';
import { timestamp } from '../events/envelope.js';
import { planName, planTable } from '../plans.js';
import { scopeName } from '../scopes.js';
import { keyIdPattern } from './keys.js';
import { installationRole, roleName } from '../roles.js';
import { operatorNameIn } from './operators.js';

/** POST /console/session on the API's listener: with a key, or with the token of a one-time address. */
export const signInRequest = z.union(
  [
    z.object({ key: z.string() }),
    /** With `accept: false`, the response only contains the account and key. */
    z.object({ token: z.string(), accept: z.boolean() }),
  ],
  { error: 'Give key, or token and accept' },
);

const consoleKey = z.object({
  account: z.string(),
  key: z.object({
    id: z.string(),
    name: z.string(),
    plan: planName,
    scopes: z.array(scopeName),
  }),
});
export type ConsoleKey = z.infer<typeof consoleKey>;

/** The response to signing in, and to GET /console/session (204 without a session). */
const consoleSession = consoleKey.extend({
  /** The page of the plans; `null` if UPGRADE_URL is not set. */
  upgradeUrl: z.url().nullable(),
  shortUrlHost: z.url(),
  /** `null`: a key signed in. */
  person: z
    .object({
      role: roleName,
      /** All accounts of the person, by name. */
      accounts: z.array(z.object({ account: z.string(), role: roleName })),
    })
    .nullable(),
});
export type ConsoleSession = z.infer<typeof consoleSession>;

/** POST /console/session on the operators' listener. */
export const operatorSignInRequest = z.object(
  { token: z.string({ error: 'token must be the admin token' }), actor: operatorNameIn('actor') },
  { error: 'Give token and actor' },
);

/** The response to signing in, and to GET /console/session. */
const operatorSession = z.object({
  /** A name. */
  actor: z.string(),
  shortUrlHost: z.url(),
  /** `null`: the admin token signed in, which permits everything. */
  role: installationRole.nullable(),
  /** The limits of each plan. */
  plans: planTable.shape.plans,
});
export type OperatorSession = z.infer<typeof operatorSession>;

/** GET /console/session/ways: how people can sign in. */
export interface SignInWays {
  readonly keys: boolean;
  /** The label of the button; `null`: there is no identity provider. */
  readonly oidc: string | null;
}

export const switchAccountRequest = z.object(
  { account: z.string({ error: 'account must be a text' }).max(64) },
  { error: 'Give account' },
);

/** GET /console/session/all: the sessions that this one may end, the last used first. */
const sessionList = z.object({
  sessions: z.array(
    z.object({
      id: z.string(),
      /** The family; `null`: unknown. */
      browser: z.string().nullable(),
      /** An operator's name; `null` on the API's listener. */
      actor: z.string().nullable(),
      startedAt: timestamp,
      /** The time of the last use, to the minute. */
      usedAt: timestamp,
      isCurrent: z.boolean(),
    }),
  ),
});
export type SessionList = z.infer<typeof sessionList>;

/** GET /console/session/changes (204 without a session): pages load their data again when `version` changes. */
const consoleChanges = z.object({
  version: z.int(),
  /** `actor`: only for operators. */
  maintenance: z.object({ since: timestamp, actor: z.string().nullable() }).nullable(),
});
export type ConsoleChanges = z.infer<typeof consoleChanges>;

export const consoleAddressRequest = z
  .object(
    {
      key: z
        .string()
        .regex(keyIdPattern, { error: 'key must be the id of a key' })
        .nullish()
        .transform((id) => id ?? null),
    },
    { error: 'the body may hold key' },
  )
  .register(requestParts, { id: 'ConsoleAddressRequest' });

export const consoleAddressResponse = consoleKey
  .extend({ url: z.url() })
  .register(responseParts, { id: 'ConsoleAddress' });
export type ConsoleAddressResponse = z.infer<typeof consoleAddressResponse>;
