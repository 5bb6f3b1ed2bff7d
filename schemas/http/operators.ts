import { type Destinations } from './link-fields.js';
import { z } from 'zod';
import { named, request, requestParts } from '../components.js';
import { catalogue, platformFeature } from '../events/catalogue.js';
import { timestamp } from '../events/envelope.js';
import { ownActors } from '../decision.js';
import { accountName, keyIdPattern } from './keys.js';
import { linkDetails, linkPage } from './links.js';
import { listLinksQuery } from './list-links.js';
import { personOfActor } from '../roles.js';
import { aliasPattern } from '../link-subject.js';
import { historyResponse } from './history.js';
import { limitUpTo, nextPage, pageLimit } from './paging.js';
import { withOptions } from './link-options.js';
import { linkRequest, linkResponse } from './shorten.js';
import { trimInvisible } from '../trim-invisible.js';
import { call, changed, found, type OperatorRows } from './route.js';

const reservedNames: ReadonlySet<string> = new Set(Object.values(ownActors));

/** The maximum in code points. */
const maxNameLength = 64;

/** The name without distinctions that a reader cannot see: case, width, and format characters. */
const lookOf = (name: string): string =>
  trimInvisible(name.normalize('NFKC').replace(/\p{Cf}/gu, '')).toLowerCase();

/**
 * The actor of an operator's changes, in NFC and without white space at both ends. It must not look like the name of
 * another kind of actor.
 */
export const operatorNameIn = (field: string) => {
  const error = `${field} must have 1 to ${maxNameLength} characters, none of them control characters`;
  return (
    z
      .string({ error })
      // Normalization takes quadratic time if many marks follow each other.
      .max(4 * maxNameLength, { error, abort: true })
      .transform((name) => trimInvisible(name).normalize('NFC'))
      .pipe(
        z
          .string()
          .regex(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]{1,64}$/u, { error, abort: true })
          .refine(
            (name) =>
              !reservedNames.has(lookOf(name)) &&
              !keyIdPattern.test(lookOf(name)) &&
              // The index of changes takes such a name for the id of a key.
              !/^.{8}-.{4}-.{4}-.{4}-.{12}$/u.test(name) &&
              personOfActor(lookOf(name)) === null,
            `${field} must not be ${[...reservedNames].join(', ')} or the id of a key or a person`,
          ),
      )
  );
};

/** Percent-encodes what a header cannot contain, and the percent sign. */
export const actorHeaderOf = (name: string): string =>
  name.replace(/[^\x21-\x24\x26-\x7e]+/g, encodeURIComponent);

/** A text that is not percent-encoded, such as `50%`, is the name itself. */
const decoded = (header: string): string => {
  try {
    return decodeURIComponent(header);
  } catch (error) {
    if (error instanceof URIError) return header;
    throw error;
  }
};

/** The header X-Actor: visible ASCII and spaces, with other characters percent-encoded as UTF-8. */
export const actorHeader = z
  .string()
  .regex(/^[\x20-\x7e]*$/, {
    error: 'X-Actor must be ASCII, with other characters percent-encoded as UTF-8',
    abort: true,
  })
  .transform(decoded)
  .pipe(operatorNameIn('X-Actor'));

const flag = z
  .boolean({ error: ({ path = [] }) => `${path.join('.')} must be true or false` })
  .optional();

/** PATCH /admin/platform; absent switches stay. */
export const switchPlatformRequest = z
  .strictObject(
    {
      maintenance: flag,
      features: z
        .strictObject(
          { shortening: flag, aliases: flag, passwords: flag, expiration: flag, qr: flag },
          { error: 'features may hold shortening, aliases, passwords, expiration and qr' },
        )
        .optional(),
    },
    { error: 'the body may hold maintenance and features' },
  )
  .refine(
    ({ maintenance, features }) =>
      maintenance !== undefined ||
      Object.values(features ?? {}).some((value) => value !== undefined),
    { error: 'nothing to switch: give maintenance or features' },
  )
  .register(requestParts, { id: 'SwitchPlatformRequest' });

export type SwitchPlatformRequest = z.input<typeof switchPlatformRequest>;

const platformResponse = named('Platform', {
  maintenance: z.boolean().describe('`true`: `/v2` and all short links get 503.'),
  features: z.record(platformFeature, z.boolean()).describe('`false`: switched off for all.'),
});
export type PlatformResponse = z.infer<typeof platformResponse>;

const textOf = (field: string) => {
  const error = `${field} must have 1 to 500 characters, none of them control characters`;
  return z
    .string({ error })
    .regex(/^[^\u0000-\u001f\u007f-\u009f]{1,500}$/, error)
    .refine((given) => given.isWellFormed(), error);
};

/** A body with a text for the history. */
const operatorText = <Field extends string>(field: Field) => {
  const text = textOf(field);
  return z.object({ [field]: text } as Record<Field, typeof text>, {
    error: `${field} must have 1 to 500 characters, none of them control characters`,
  });
};

export const blockRequest = operatorText('reason').register(requestParts, { id: 'BlockRequest' });

export const blockResponse = named('LinkBlock', {
  shortCode: z.string(),
  blocked: z.boolean().describe('After the change.'),
});
export type BlockResponse = z.infer<typeof blockResponse>;

/** GET, PATCH and DELETE /admin/links/:shortCode */
export const operatorsLink = named('OperatorsLink', { ...linkDetails.shape, account: accountName });
export type OperatorsLink = z.infer<typeof operatorsLink>;

/** POST /admin/links: a link of any account, which may have a reserved alias. */
export const operatorsLinkRequest = (accepted: Destinations) =>
  linkRequest(accepted)
    .safeExtend({ account: accountName.default('default') })
    .transform(withOptions)
    .register(requestParts, { id: 'OperatorsLinkRequest' });

/** POST /admin/links: the new link. */
export const createdOperatorsLink = named('CreatedLink', {
  ...linkResponse.shape,
  account: accountName,
});

/** The query of GET /admin/links. Without `account`: all links; those by creation are in the order of account names. */
export const listAllLinksQuery = listLinksQuery.extend({ account: accountName.optional() });

/** GET /admin/links: a page. */
export const operatorsLinkPage = named('OperatorsLinkPage', {
  ...linkPage.shape,
  links: z.array(operatorsLink).max(100),
});
export type OperatorsLinkPage = z.infer<typeof operatorsLinkPage>;

/** GET /admin/reserved-aliases: the overrides, in the order of aliases. */
const listOverridesQuery = z.object({
  after: z
    .string({ error: 'after must be the next of a page' })
    .regex(aliasPattern, 'after must be the next of a page')
    .default(''),
  alias: z
    .string({ error: 'alias must be given once' })
    .max(50, 'alias must have at most 50 characters')
    .optional(),
  limit: pageLimit.default(100),
});

const overridePage = named('AliasOverridePage', {
  overrides: z.array(z.object({ alias: z.string(), account: z.string(), since: timestamp })),
  next: nextPage,
  reserved: z
    .boolean()
    .exactOptional()
    .describe('Whether the `alias` of the query is reserved, also if an account may use it.'),
});
export type OverridePage = z.infer<typeof overridePage>;

export const changeTypes = Object.values(catalogue)
  .filter(
    ({ topic, name }) => /^(?:links|accounts|platform)$/.test(topic) && name !== 'LinkImported',
  )
  .map(({ name }) => name);

/** GET /admin/changes: the changes of accounts and the platform, and of links by operators, newest first. */
export const listChangesQuery = z.object({
  account: accountName.optional().describe('Only the changes of this account.'),
  actor: textOf('actor')
    .transform((name) => trimInvisible(name).normalize('NFC'))
    .optional()
    .describe('Only the changes by this operator, or by the key or person with this ID.'),
  type: z
    .enum(changeTypes, { error: `type must be one of ${changeTypes.join(', ')}` })
    .optional()
    .describe('The name of an event, without its version.'),
  after: z
    .string({ error: 'after must be the next of a page' })
    .max(2_048, 'after must be the next of a page')
    .optional(),
  limit: limitUpTo(100).default(50),
});

const changePage = named('ChangePage', {
  ...historyResponse.shape,
  next: nextPage.describe(
    'The `after` of the next page; `null` on the last page. A page before the last one may have ' +
      'fewer events than `limit`, even none.',
  ),
  earlier: z
    .record(z.string(), z.record(z.string(), z.unknown()))
    .describe('The values before those changes whose data has the values after them, by event ID.'),
});
export type ChangePage = z.infer<typeof changePage>;

/** GET /admin/processes: the processes of the installation, which report every 5 seconds. */
const processList = named('ProcessList', {
  processes: z.array(
    z.object({
      id: z.string(),
      version: z.string(),
      services: z.string(),
      host: z.string(),
      pid: z.int(),
      startedAt: timestamp,
      lastSeenAt: timestamp,
    }),
  ),
});
export type ProcessList = z.infer<typeof processList>;

export const aliasOverrideRequest = request('AliasOverrideRequest', 'account is needed', {
  account: accountName,
});

const aliasOverrideResponse = named('AliasOverride', {
  alias: z.string(),
  account: z.string().nullable(),
});
export type AliasOverrideResponse = z.infer<typeof aliasOverrideResponse>;

export const platformRoutes = {
  getPlatform: call('GET /platform', 'Get the switches', { returns: found(platformResponse) }),
  switchPlatform: call('PATCH /platform', 'Switch maintenance and features', {
    body: switchPlatformRequest,
    returns: changed(platformResponse),
  }),
  listOverrides: call('GET /reserved-aliases', 'List the accounts that may use reserved aliases', {
    query: listOverridesQuery,
    returns: found(overridePage),
  }),
  allowAlias: call(
    'PUT /reserved-aliases/:alias/override',
    'Allow one account to use a reserved alias',
    { body: aliasOverrideRequest, returns: changed(aliasOverrideResponse) },
  ),
  disallowAlias: call('DELETE /reserved-aliases/:alias/override', 'Reserve an alias again', {
    returns: changed(aliasOverrideResponse),
  }),
  listChanges: call('GET /changes', 'List the changes of accounts and the platform, newest first', {
    description: 'With the changes of links by operators, except imports.',
    query: listChangesQuery,
    returns: found(changePage),
  }),
  listProcesses: call('GET /processes', 'List the running processes of all nodes', {
    returns: found(processList),
  }),
} satisfies OperatorRows;
