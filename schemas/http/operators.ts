import { z } from 'zod';
import { platformFeature } from '../events/catalogue.js';
import { timestamp } from '../events/envelope.js';
import { ownActors } from '../decision.js';
import { accountName, keyIdPattern } from './keys.js';
import { linkDetails, linkPage } from './links.js';
import { listLinksQuery } from './list-links.js';

const reservedNames: ReadonlySet<string> = new Set(Object.values(ownActors));

/** The actor of an operator's changes. It must not be, in any case, the name of another kind of actor. */
export const operatorNameIn = (field: string) => {
  const error = `${field} must have 1 to 64 visible characters`;
  return z
    .string({ error })
    .regex(/^[\x21-\x7e]{1,64}$/, { error, abort: true })
    .refine(
      (name) => {
        const lowerCase = name.toLowerCase();
        return !reservedNames.has(lowerCase) && !keyIdPattern.test(lowerCase);
      },
      `${field} must not be ${[...reservedNames].join(', ')} or the id of a key`,
    );
};

export const operatorName = operatorNameIn('X-Actor');

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
  );

export type SwitchPlatformRequest = z.input<typeof switchPlatformRequest>;

/** GET and PATCH /admin/platform */
export const platformResponse = z.object({
  maintenance: z.boolean(),
  maintenanceSince: timestamp.nullable().describe('`null` without maintenance.'),
  maintenanceActor: z
    .string()
    .nullable()
    .describe('The operator who switched it on; `null` without maintenance.'),
  features: z.record(platformFeature, z.boolean()),
});
export type PlatformResponse = z.infer<typeof platformResponse>;

/** A body with a text for the history. */
const operatorText = <Field extends string>(field: Field) => {
  const error = `${field} must have 1 to 500 characters, none of them control characters`;
  const text = z
    .string({ error })
    .regex(/^[^\u0000-\u001f\u007f-\u009f]{1,500}$/, error)
    .refine((given) => given.isWellFormed(), error);
  return z.object({ [field]: text } as Record<Field, typeof text>, { error });
};

/** POST /admin/links/:shortCode/block and …/unblock */
export const blockRequest = operatorText('reason');

export const blockResponse = z.object({ shortCode: z.string(), blocked: z.boolean() });
export type BlockResponse = z.infer<typeof blockResponse>;

/** GET, PATCH and DELETE /admin/links/:shortCode */
export const operatorsLink = linkDetails.extend({ account: z.string() });
export type OperatorsLink = z.infer<typeof operatorsLink>;

/** The query of GET /admin/links. Without `account`: all links, in the order of account names. */
export const listAllLinksQuery = listLinksQuery
  .extend({ account: accountName.optional() })
  .refine(
    ({ sort, account }) => sort !== 'clicks' || account !== undefined,
    'sort=clicks needs an account',
  );

/** GET /admin/links: a page. */
export const operatorsLinkPage = linkPage.extend({ links: z.array(operatorsLink).max(100) });
export type OperatorsLinkPage = z.infer<typeof operatorsLinkPage>;

/** PUT /admin/reserved-aliases/:alias/override */
export const aliasOverrideRequest = z.object(
  { account: accountName },
  { error: 'account is needed' },
);

export const aliasOverrideResponse = z.object({
  alias: z.string(),
  account: z.string().nullable(),
});
export type AliasOverrideResponse = z.infer<typeof aliasOverrideResponse>;
