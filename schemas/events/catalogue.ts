/** Every type of event: its data, by the topic and subject that it belongs to. */
import { z } from 'zod';
import { campaignPattern } from '../campaign.js';
import { planName } from '../plans.js';
import { firstScopes, scopeName, scopesBeforeDomains, type Scope } from '../scopes.js';
import { timestamp } from './envelope.js';
import { responseParts } from '../components.js';
import { anyRole, roleName, roleSource } from '../roles.js';
import { createdOptions, editedOptions } from '../link-options.js';
import { byUtmName } from '../utm.js';
import { defineEvents, type EventOf } from './event-type.js';
import { browserFamilies, deviceTypes, osFamilies, visitTriggers } from './visitor.js';

const noData = z.strictObject({});
const count = z.int().min(0);
const matching = (pattern: RegExp) => z.string().regex(pattern);
const url = z.string().describe('The destination as it was sent, without outer white space.');
const end = timestamp.nullable().describe('When the link expires; `null`: never.');
const start = timestamp.describe('Visitors get 404 before this time.');
const limit = z.int().min(1).nullable().describe('Redirects until it expires; `null`: no limit.');
const passwordHash = { secret: true, description: 'argon2id.' };
const title = z.string().describe('For the owner.');
const note = z.string().describe('For the owner.');
const tags = z.array(z.string()).exactOptional().describe('For the owner.');

/** See `operatorsKeyId`. The actor is the key of the request, or an operator. */
const keyId = z
  .string()
  .describe('The root key whose quota the link uses; `operator`: none, for a link of an operator.');

const additionalCode = z
  .string()
  .describe('`code` on the default domain, otherwise `domain/code`, as a subject.');

const firstCreationData = z.strictObject({
  url,
  custom: z
    .boolean()
    .describe('Whether the code is an alias (always, if imported); otherwise it was generated.'),
  expiresAt: end,
  maxClicks: limit,
  passwordHash: z.string().nullable().meta(passwordHash),
  keyId,
});

const secondCreationData = firstCreationData.extend({
  title: title.exactOptional(),
  note: note.exactOptional(),
  tags,
});

const thirdCreationData = secondCreationData.extend({ startsAt: start.exactOptional() });

const firstEditData = z.strictObject({
  url: url.exactOptional(),
  /**
   * A change of this or `maxClicks` ends an expiry. If the link is still past its end or limit, LinkExpired follows.
   */
  expiresAt: end.exactOptional(),
  maxClicks: z.int().min(1).exactOptional().describe('Redirects until the link expires.'),
  password: z
    .enum(['set', 'removed'])
    .register(responseParts, { id: 'PasswordChange' })
    .exactOptional()
    .describe('Whether the link has a password after the change.'),
  passwordHash: z.string().exactOptional().meta(passwordHash),
});

const secondEditData = firstEditData.extend({
  startsAt: start.nullable().exactOptional(),
  maxClicks: limit.exactOptional(),
  clicks: count.exactOptional().describe('The clicks so far, if it had no limit before.'),
});

// Optional to keep events small: most links have no texts, start or options.
const creationData = thirdCreationData.extend(createdOptions);

const blockReason = z.string().describe('The text of the operator or of the web-safety check.');

/** The events of the topic of links. Subject: the short code. */
const linkEvents = defineEvents('links', {
  LinkCreated: {
    description: 'A link was created. The time of the event is the time of creation.',
    version: 4,
    data: creationData,
    retired: [
      { version: 1, data: firstCreationData },
      { version: 2, data: secondCreationData },
      { version: 3, data: thirdCreationData },
    ],
  },
  LinkImported: {
    description:
      'A link of another service was created. The time of the event is the time of the import.',
    version: 1,
    data: creationData.extend({
      importId: z.string().describe('The ID of the import.'),
      source: z.string().describe('The format of the file, such as `yourls-sql`, or the service.'),
      createdAt: timestamp.describe(
        'The time of creation at the source, or of the import if it is unknown.',
      ),
      clicks: count.describe(
        'The clicks at the source that were not imported as visits. They belong to no period.',
      ),
      visits: count.describe(
        'The clicks at the source that are imported as visits, after this event.',
      ),
    }),
  },
  LinkEdited: {
    description:
      'The destination, options, limits or password changed. An absent field is unchanged; `null` removes the value.',
    version: 3,
    data: secondEditData.extend(editedOptions),
    retired: [
      { version: 1, data: firstEditData },
      { version: 2, data: secondEditData },
    ],
  },
  LinkDescribed: {
    description:
      'The title, note or tags changed. An absent field is unchanged; `null` removes the value.',
    version: 1,
    data: z.strictObject({
      title: title.nullable().exactOptional(),
      note: note.nullable().exactOptional(),
      tags,
    }),
  },
  LinkDisabled: { version: 1, description: 'The owner disabled the link.', data: noData },
  LinkEnabled: { version: 1, description: 'The owner enabled the link again.', data: noData },
  LinkDeleted: {
    description: 'The owner deleted the link. Its code is never given to another link.',
    version: 1,
    data: noData,
  },
  LinkRestored: {
    description:
      'The owner restored the deleted link. Everything is as it was before the deletion.',
    version: 1,
    data: noData,
  },
  /** A link expires at most once between edits of its end or limit. */
  LinkExpired: {
    description: 'The link passed its end, or used its last click.',
    version: 1,
    data: z.strictObject({
      reason: z.enum(['time', 'clicks']).register(responseParts, { id: 'ExpiryReason' }),
    }),
  },
  LinkBlocked: {
    description: 'An operator or the web-safety check blocked the link.',
    version: 1,
    data: z.strictObject({ reason: blockReason }),
  },
  LinkUnblocked: {
    description: 'A block of the link ended.',
    version: 1,
    data: z.strictObject({ reason: blockReason }),
  },
  LinkCodeAdded: {
    description: 'The link got a further code, which redirects as its first one does.',
    version: 1,
    data: z.strictObject({ code: additionalCode, keyId }),
  },
  LinkCodeRemoved: {
    description: 'A further code of the link was removed. It is never used again.',
    version: 1,
    data: z.strictObject({ code: additionalCode }),
  },
});

const firstVisitData = z.strictObject({
  click: z.int().min(1).nullable().describe('The number of the click on a link with `maxClicks`.'),
  /** Their visits are counted separately. */
  bot: z.boolean().describe('Whether the user agent names a crawler or link previewer.'),
});

const secondVisitData = firstVisitData.extend({
  country: matching(/^[A-Z]{2}$/)
    .nullable()
    .describe('ISO 3166-1 alpha-2.'),
  referrer: z.string().nullable().describe('The host of the linking page, without `www.`.'),
  browser: z.enum(browserFamilies).nullable().describe('The family, by the user agent.'),
  os: z.enum(osFamilies).nullable().describe('The family, by the user agent.'),
  device: z.enum(deviceTypes).nullable().describe('By the user agent.'),
  language: matching(/^[a-z]{2,3}$/)
    .nullable()
    .describe('Primary subtag of BCP 47, lower case.'),
  /** 96 bits of a keyed hash, base64url. */
  visitor: matching(/^[\w-]{16}$/)
    .nullable()
    .describe('The same in all visits of one visitor to one link on one UTC day.'),
  trigger: z
    .enum(visitTriggers)
    .register(responseParts, { id: 'VisitTrigger' })
    .nullable()
    .describe('`qr`: a QR code.'),
  version: z
    .int()
    .min(1)
    .nullable()
    .describe('The `sequence` of the last event of the link that the edge knew.'),
});

const thirdVisitData = secondVisitData.extend({
  target: matching(/^[\w-]{1,50}(?:\/[\w-]{1,50})?$/)
    .nullable()
    .describe('The redirect rule that was applied, `rule` or `rule/entry`; `null`: none.'),
});

/** Subject: the short code. */
const visitEvents = defineEvents('visits', {
  /**
   * A visitor was redirected. Everything that a library determines (bot, browser, country, …) is determined before the
   * event is written and is part of it, so that a later fold gives the same rows. `null`: unknown, or not recorded.
   */
  LinkVisited: {
    description:
      'A visitor or a bot was redirected. `null`: unknown, or not recorded because the visitor opted out of tracking.',
    version: 4,
    data: thirdVisitData.extend({
      code: z
        .string()
        .nullable()
        .describe('The subject of the code of the request; `null`: the first code of the link.'),
      campaign: matching(campaignPattern)
        .nullable()
        .describe(
          'The UTM parameters of the destination as a query: those of `campaign`, `source` and `medium` that are ' +
            'present, in this order; `null`: none.',
        ),
    }),
    retired: [
      {
        version: 1,
        data: firstVisitData,
        upcast: (first: z.output<typeof firstVisitData>) => ({
          ...first,
          ...{ country: null, referrer: null, browser: null, os: null, device: null },
          ...{ language: null, visitor: null, trigger: null, version: null, target: null },
        }),
      },
      {
        version: 2,
        data: secondVisitData,
        upcast: (second: z.output<typeof secondVisitData>) => ({ ...second, target: null }),
      },
      {
        version: 3,
        data: thirdVisitData,
        upcast: (third: z.output<typeof thirdVisitData>) => ({
          ...third,
          code: null,
          campaign: null,
        }),
      },
    ],
  },
});

/** The secret itself is not stored. */
const keyHash = matching(/^[0-9a-f]{64}$/).meta({
  secret: true,
  description: 'SHA-256 of the secret of the key, hexadecimal.',
});

const keyName = z.string().describe('Chosen by the creator of the key.');
const firstPlan = planName.describe('It determines the limits of the key.');

const firstKeyData = z.strictObject({
  name: keyName,
  plan: firstPlan,
  account: z.string().describe('The account whose links the key manages.'),
  hash: keyHash,
});

const firstKeyChange = z.strictObject({
  name: keyName,
  plan: firstPlan,
  active: z.boolean().describe('`false`: an operator deactivated the key.'),
});

/** The fields of keys that were added together with scopes. */
const firstKeyTerms = {
  plan: planName.nullable().describe('`null`: the plan of the root key.'),
  scopes: z.array(scopeName).describe('What the key may do.'),
  expiresAt: timestamp.nullable().describe('When the key ends; `null`: never.'),
};

/** See `storedScopes`. */
const scopes = z.array(scopeName).nullable().describe('What the key may do; `null`: all.');

/** A key that had all scopes of its time was never restricted. */
const unlessUnrestricted = (known: Scope[]): Scope[] | null =>
  scopesBeforeDomains.every((scope) => known.includes(scope)) ? null : known;

const secondKeyData = firstKeyData.extend({
  ...firstKeyTerms,
  ancestors: z.array(z.string()).describe('IDs of keys, the root first; a root key has none.'),
});

const secondKeyChange = z.strictObject({
  name: keyName,
  ...firstKeyTerms,
  status: z
    .enum(['active', 'inactive', 'suspended'])
    .register(responseParts, { id: 'KeyStatus' })
    .describe('`inactive`: by the key itself or an ancestor; `suspended`: by an operator.'),
});

const thirdKeyChange = secondKeyChange.extend({
  deactivatedBy: z.string().nullable().describe('The ID of the key that made it `inactive`.'),
});

/** Subject: the key's id. */
const keyEvents = defineEvents('accounts', {
  ApiKeyCreated: {
    description: 'A key was created.',
    version: 3,
    data: secondKeyData.extend({ scopes }),
    retired: [
      {
        version: 1,
        data: firstKeyData,
        upcast: (first: z.output<typeof firstKeyData>) => ({
          ...first,
          scopes: firstScopes,
          expiresAt: null,
          ancestors: [],
        }),
      },
      {
        version: 2,
        data: secondKeyData,
        upcast: (second: z.output<typeof secondKeyData>) => ({
          ...second,
          scopes: unlessUnrestricted(second.scopes),
        }),
      },
    ],
  },
  ApiKeyChanged: {
    description: 'The key changed. All fields have the values after the change.',
    version: 4,
    data: thirdKeyChange.extend({ scopes }),
    retired: [
      {
        version: 1,
        data: firstKeyChange,
        // Only operators changed keys in version 1, and all keys had these scopes and no end.
        upcast: ({ active, ...first }: z.output<typeof firstKeyChange>) => ({
          ...first,
          scopes: firstScopes,
          expiresAt: null,
          status: active ? 'active' : 'suspended',
        }),
      },
      {
        version: 2,
        data: secondKeyChange,
        // Not its actor, who may have changed another field of an inactive key.
        upcast: (second: z.output<typeof secondKeyChange>) => ({ ...second, deactivatedBy: null }),
      },
      {
        version: 3,
        data: thirdKeyChange,
        upcast: (third: z.output<typeof thirdKeyChange>) => ({
          ...third,
          scopes: unlessUnrestricted(third.scopes),
        }),
      },
    ],
  },
  ApiKeyRotated: {
    description: 'The key has a new secret.',
    version: 1,
    data: z.strictObject({
      hash: keyHash,
      earlierEndAt: timestamp.describe('All earlier secrets end at this time or earlier.'),
    }),
  },
  ApiKeyRevoked: { version: 1, description: 'The key was revoked permanently.', data: noData },
});

/** Subject: the alias, lower case. */
const overrideEvents = defineEvents('accounts', {
  AliasOverrideGranted: {
    description: 'An operator allowed one account to use a reserved alias.',
    version: 1,
    data: z.strictObject({ account: z.string() }),
  },
  AliasOverrideRevoked: {
    description: 'An operator withdrew the permission to use a reserved alias.',
    version: 1,
    data: noData,
  },
});

/** Where visitors of a domain are redirected instead of a page; `null`: they get the page. */
const domainRedirects = {
  rootRedirect: z.string().nullable().describe('For `/`.'),
  notFoundRedirect: z.string().nullable().describe('For unknown links.'),
  expiredRedirect: z.string().nullable().describe('For expired, disabled and deleted links.'),
};

const token = z.string().describe('The part of the TXT record after `linklog=`.');
const by = z
  .enum(['dns', 'operator'])
  .register(responseParts, { id: 'DomainCheck' })
  .describe('`dns`: the TXT record was found; `operator`: without a check.');
const caseInsensitive = z
  .boolean()
  .exactOptional()
  .describe('Whether letters of either case are the same in its codes. Default: `false`.');

/** Subject: the domain, a lower-case ASCII host without port. The event's `account` claims or has the domain. */
const domainEvents = defineEvents('accounts', {
  DomainClaimed: {
    description: 'The account claimed the domain, which is not verified yet.',
    version: 2,
    data: z.strictObject({ token, caseInsensitive }),
    retired: [{ version: 1, data: z.strictObject({ token }) }],
  },
  DomainVerified: {
    description: 'The account has the domain.',
    version: 2,
    data: z.strictObject({ by, caseInsensitive }),
    retired: [{ version: 1, data: z.strictObject({ by }) }],
  },
  DomainChanged: {
    description:
      'The redirects of the domain changed. All fields have the values after the change; `null`: visitors get a page.',
    version: 1,
    data: z.strictObject(domainRedirects),
  },
  DomainReleased: {
    description: 'The account no longer has the domain, or its claim.',
    version: 1,
    data: noData,
  },
});

const webhookTerms = {
  url: z.string().describe('The receiver.'),
  types: z
    .array(z.string())
    .nullable()
    .describe('Names of events; `null`: all except `LinkVisited`.'),
  domain: z
    .string()
    .nullable()
    .describe('Only events of links on this domain; empty: the default domain; `null`: all.'),
  description: z.string().nullable().describe('For the owner; `null`: none.'),
};

const webhookSecret = z.string().describe('Signs deliveries: `whsec_` and Base64.');

const failure = z.string().describe('Why Linklog stopped the deliveries.');

/** Subject: the webhook's id. */
const webhookEvents = defineEvents('accounts', {
  WebhookCreated: {
    description: 'A webhook was created.',
    version: 1,
    data: z.strictObject({ ...webhookTerms, secret: webhookSecret.meta({ secret: true }) }),
  },
  WebhookChanged: {
    description:
      'The webhook changed, or its secret was rotated. All fields have the values after the change.',
    version: 1,
    data: z.strictObject({
      ...webhookTerms,
      status: z.enum(['enabled', 'paused', 'disabled']).describe('`disabled`: by Linklog.'),
      secrets: z
        .array(
          z
            .strictObject({
              secret: webhookSecret,
              endsAt: timestamp.nullable().describe('`null` for the newest secret.'),
            })
            .register(responseParts, { id: 'WebhookSecret' }),
        )
        .meta({ secret: true, description: 'They sign deliveries, the newest first.' }),
    }),
  },
  WebhookDisabled: {
    description: 'Linklog disabled the webhook: nothing is delivered until the account enables it.',
    version: 1,
    data: z.strictObject({ reason: failure }),
  },
  WebhookDeleted: { version: 1, description: 'The webhook was deleted permanently.', data: noData },
});

const sharedLink = z.string().describe('The link whose statistics are shared.');

/** Subject: the share's id. */
const shareEvents = defineEvents('accounts', {
  StatisticsShared: {
    description: 'The statistics of a link were shared by a secret address.',
    version: 1,
    data: z.strictObject({
      link: sharedLink,
      tokenHash: z
        .string()
        .meta({ secret: true, description: 'SHA-256 of the token in the URL, in base64url.' }),
      expiresAt: timestamp.nullable().describe('When the share expires; `null`: never.'),
      passwordHash: z.string().nullable().meta(passwordHash),
      showDestination: z.boolean().describe('Whether the statistics show the destination.'),
    }),
  },
  ShareEnded: {
    description: 'The share was ended permanently.',
    version: 1,
    data: z.strictObject({ link: sharedLink }),
  },
});

const personRole = anyRole.describe(
  'The role in the account; without an account, in the installation.',
);
const source = roleSource.describe('How the person got the role.');
const personName = z
  .string()
  .nullable()
  .meta({ secret: true, description: 'As the identity provider has it; `null`: unknown.' });
const personEmail = z
  .string()
  .nullable()
  .meta({ secret: true, description: 'As the identity provider has verified it; `null`: none.' });

/** Subject: the person's id. An event without an account is about the person or its role in the installation. */
const personEvents = defineEvents('accounts', {
  PersonAdded: {
    description: 'A person got a role.',
    version: 1,
    data: z.strictObject({
      issuer: z.string().describe('The identity provider.'),
      identity: z
        .string()
        .meta({ secret: true, description: 'The `sub` of the person at the provider.' }),
      ...{ name: personName, email: personEmail, role: personRole, source },
    }),
  },
  PersonChanged: {
    description: 'The role of a person changed, or its name or e-mail address.',
    version: 1,
    data: z.strictObject({
      role: personRole.exactOptional(),
      source: source.exactOptional(),
      name: personName.exactOptional(),
      email: personEmail.exactOptional(),
    }),
  },
  PersonRemoved: { version: 1, description: 'A person lost its role.', data: noData },
});

/** Subject: the invitation's id. */
const invitationEvents = defineEvents('accounts', {
  InvitationCreated: {
    description: 'A person was invited to an account.',
    version: 1,
    data: z.strictObject({
      role: roleName.describe('The role that the invitation gives.'),
      email: z.string().nullable().meta({
        secret: true,
        description: 'The only address that may accept it; `null`: any.',
      }),
      tokenHash: z
        .string()
        .meta({ secret: true, description: 'SHA-256 of the token in the URL, in base64url.' }),
      expiresAt: timestamp.describe('The invitation is valid until then.'),
    }),
  },
  InvitationAccepted: {
    description: 'A person accepted the invitation.',
    version: 1,
    data: z.strictObject({ person: z.string().describe('The id of the person.') }),
  },
  InvitationWithdrawn: { version: 1, description: 'The invitation was withdrawn.', data: noData },
});

/** Subject: `account:name`. */
const utmTemplateEvents = defineEvents('accounts', {
  UtmTemplateSaved: {
    description: 'A template of UTM parameters was created or replaced.',
    version: 1,
    data: z.strictObject({
      name: z.string().describe('The name of the template.'),
      ...byUtmName((name) => z.string().nullable().describe(`\`utm_${name}\`; \`null\`: none.`)),
    }),
  },
  UtmTemplateDeleted: { version: 1, description: 'The template was deleted.', data: noData },
});

/** Subject: the key's id. */
const usageEvents = defineEvents('usage', {
  CallsMetered: {
    description: 'Some or all calls of a key in one minute.',
    version: 1,
    data: z.strictObject({
      /** The calls count in its month. */
      minute: timestamp.describe('The start of the minute.'),
      calls: z.int().min(1).describe('Calls of the key in this minute.'),
    }),
  },
  QrRendered: {
    description: 'A key rendered a QR code.',
    version: 1,
    data: z.strictObject({ code: z.string() }),
  },
});

/** Features that operators can switch off. */
export const platformFeature = z.enum(['shortening', 'aliases', 'passwords', 'expiration', 'qr']);

/** Work on a projection that operators can request. */
export const projectionWork = z.enum(['redrive', 'rebuild', 'rollback']);
export type ProjectionWork = z.infer<typeof projectionWork>;

const on = z.boolean().describe('Whether it is on after the change.');

/** Subject: `platform`. */
const platformEvents = defineEvents('platform', {
  MaintenanceSwitched: {
    description: 'An operator switched the maintenance mode.',
    version: 1,
    data: z.strictObject({ on }),
  },
  FeatureSwitched: {
    description: 'An operator switched a feature.',
    version: 1,
    data: z.strictObject({ feature: platformFeature, on }),
  },
  CodesCaseChosen: {
    description: 'The first start chose whether codes of the default domain ignore case.',
    version: 1,
    data: z.strictObject({ caseInsensitive: z.boolean() }),
  },
  /** Projections do not depend on it. */
  ProjectionWorkRequested: {
    description: 'An operator requested work on a projection.',
    version: 1,
    data: z.strictObject({ projection: z.string(), work: projectionWork }),
  },
});

export const catalogue = {
  ...linkEvents,
  ...visitEvents,
  ...keyEvents,
  ...overrideEvents,
  ...domainEvents,
  ...webhookEvents,
  ...shareEvents,
  ...personEvents,
  ...invitationEvents,
  ...utmTemplateEvents,
  ...usageEvents,
  ...platformEvents,
};

export type EventName = keyof typeof catalogue;

/** Any event in its current version, discriminated by `type`. */
export type LinklogEvent = { [Name in EventName]: EventOf<(typeof catalogue)[Name]> }[EventName];

/** The event of a name, such as `EventNamed<'LinkCreated'>`. */
export type EventNamed<Name extends EventName> = EventOf<(typeof catalogue)[Name]>;

/** Returns a type guard for the events of a group, such as `linkEvents`. */
const isOneOf = <Group extends Partial<typeof catalogue>>(group: Group) => {
  const types = new Set<string>(Object.values(group).map(({ type }) => type));
  return (event: LinklogEvent): event is EventNamed<keyof Group & EventName> =>
    types.has(event.type);
};

export type LinkEvent = EventNamed<keyof typeof linkEvents>;
export type ApiKeyEvent = EventNamed<keyof typeof keyEvents>;
export type AliasOverrideEvent = EventNamed<keyof typeof overrideEvents>;
export type DomainEvent = EventNamed<keyof typeof domainEvents>;
export type WebhookEvent = EventNamed<keyof typeof webhookEvents>;
export type ShareEvent = EventNamed<keyof typeof shareEvents>;
export type PersonEvent = EventNamed<keyof typeof personEvents>;
export type InvitationEvent = EventNamed<keyof typeof invitationEvents>;
export type UtmTemplateEvent = EventNamed<keyof typeof utmTemplateEvents>;
export type UsageEvent = EventNamed<keyof typeof usageEvents>;
export type PlatformEvent = EventNamed<keyof typeof platformEvents>;

export const isLinkEvent = isOneOf(linkEvents);
export const isVisit = isOneOf(visitEvents);

export type CreationEvent = EventNamed<'LinkCreated' | 'LinkImported'>;

const { LinkCreated, LinkImported, LinkCodeAdded, LinkCodeRemoved } = linkEvents;
export const isCreation = isOneOf({ LinkCreated, LinkImported });

export type CodeEvent = EventNamed<'LinkCodeAdded' | 'LinkCodeRemoved'>;
export const isCodeEvent = isOneOf({ LinkCodeAdded, LinkCodeRemoved });
export const isApiKeyEvent = isOneOf(keyEvents);
export const isAliasOverrideEvent = isOneOf(overrideEvents);
export const isDomainEvent = isOneOf(domainEvents);
export const isWebhookEvent = isOneOf(webhookEvents);
export const isShareEvent = isOneOf(shareEvents);
export const isPersonEvent = isOneOf(personEvents);
export const isInvitationEvent = isOneOf(invitationEvents);
export const isUtmTemplateEvent = isOneOf(utmTemplateEvents);
export const isUsageEvent = isOneOf(usageEvents);
export const isPlatformEvent = isOneOf(platformEvents);
