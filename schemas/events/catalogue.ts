/** Every type of event: its data, by the topic and subject that it belongs to. */
import { z } from 'zod';
import { planName } from '../plans.js';
import { firstScopes, scopeName, scopesBeforeDomains, type Scope } from '../scopes.js';
import { timestamp } from './envelope.js';
import { responseParts } from '../components.js';
import { redirectRule } from '../redirect-rules.js';
import { defineEvents, type EventOf } from './event-type.js';
import { browserFamilies, deviceTypes, osFamilies, visitTriggers } from './visitor.js';

const firstCreationData = z.strictObject({
  /** The destination as it was sent, without white space at both ends. */
  url: z.string(),
  /** Whether the code is an alias; otherwise it was generated. */
  custom: z.boolean(),
  expiresAt: timestamp.nullable(),
  maxClicks: z.int().min(1).nullable(),
  /** argon2id. Exports do not contain it. */
  passwordHash: z.string().nullable().meta({ secret: true }),
  /** The root key whose quota the link uses, or `operatorsKeyId`. The actor is the key of the request, or an operator. */
  keyId: z.string(),
});

const secondCreationData = firstCreationData.extend({
  title: z.string().exactOptional(),
  note: z.string().exactOptional(),
  tags: z.array(z.string()).exactOptional(),
});

const thirdCreationData = secondCreationData.extend({
  /** The link is scheduled before this time. */
  startsAt: timestamp.exactOptional(),
});

const firstEditData = z.strictObject({
  url: z.string().exactOptional(),
  /**
   * A change of this or `maxClicks` ends an expiry. If the link is still past its end or limit, LinkExpired follows.
   */
  expiresAt: timestamp.nullable().exactOptional(),
  maxClicks: z.int().min(1).exactOptional(),
  password: z
    .enum(['set', 'removed'])
    .register(responseParts, { id: 'PasswordChange' })
    .exactOptional(),
  /** The hash of the new password. */
  passwordHash: z.string().exactOptional().meta({ secret: true }),
});

const secondEditData = firstEditData.extend({
  startsAt: timestamp.nullable().exactOptional(),
  maxClicks: z.int().min(1).nullable().exactOptional(),
  /** The opening balance of a limit on a link without one: the clicks counted so far. */
  clicks: z.int().min(0).exactOptional(),
});

// Optional to keep events small: most links have no texts, start or rules.
const creationData = thirdCreationData.extend({
  rules: z.array(redirectRule).min(1).exactOptional(),
  forwardQuery: z.literal(true).exactOptional(),
});

/** The events of the topic of links. Subject: the short code. */
const linkEvents = defineEvents('links', {
  /** The event's time is the time of creation. */
  LinkCreated: {
    version: 4,
    data: creationData,
    retired: [
      {
        version: 1,
        data: firstCreationData,
        upcast: (first: z.output<typeof firstCreationData>) => first,
      },
      {
        version: 2,
        data: secondCreationData,
        upcast: (second: z.output<typeof secondCreationData>) => second,
      },
      {
        version: 3,
        data: thirdCreationData,
        upcast: (third: z.output<typeof thirdCreationData>) => third,
      },
    ],
  },
  /** A link of another service was created. The event's time is the time of the import. */
  LinkImported: {
    version: 1,
    data: creationData.extend({
      importId: z.string(),
      /** The format of the file or the service, such as `yourls-sql`. */
      source: z.string(),
      /** The time of creation at the source, or of the import if it is unknown. */
      createdAt: timestamp,
      /** The opening balance: the clicks at the source that were not imported as visits. They belong to no period. */
      clicks: z.int().min(0),
      /** The clicks at the source that are imported as visits, after this event. */
      visits: z.int().min(0),
    }),
  },
  /** An absent field is unchanged; `null` removes the value. */
  LinkEdited: {
    version: 3,
    data: secondEditData.extend({
      rules: z.array(redirectRule).min(1).nullable().exactOptional(),
      forwardQuery: z.boolean().exactOptional(),
    }),
    retired: [
      {
        version: 1,
        data: firstEditData,
        upcast: (first: z.output<typeof firstEditData>) => first,
      },
      {
        version: 2,
        data: secondEditData,
        upcast: (second: z.output<typeof secondEditData>) => second,
      },
    ],
  },
  /** An absent field is unchanged; `null` removes the value. */
  LinkDescribed: {
    version: 1,
    data: z.strictObject({
      title: z.string().nullable().exactOptional(),
      note: z.string().nullable().exactOptional(),
      tags: z.array(z.string()).exactOptional(),
    }),
  },
  LinkDisabled: { version: 1, data: z.strictObject({}) },
  LinkEnabled: { version: 1, data: z.strictObject({}) },
  /** Permanently: the code is never used again. */
  LinkDeleted: { version: 1, data: z.strictObject({}) },
  /** A link expires at most once between edits of its end or limit. */
  LinkExpired: {
    version: 1,
    data: z.strictObject({
      reason: z.enum(['time', 'clicks']).register(responseParts, { id: 'ExpiryReason' }),
    }),
  },
  /** An operator or the web-safety check has blocked the link. */
  LinkBlocked: { version: 1, data: z.strictObject({ reason: z.string() }) },
  LinkUnblocked: { version: 1, data: z.strictObject({ reason: z.string() }) },
});

const firstVisitData = z.strictObject({
  /** Its number among the clicks of a link with a limit; `null` for a link without one. */
  click: z.int().min(1).nullable(),
  /** Whether the user agent identifies itself as a crawler or link previewer. Their visits are counted separately. */
  bot: z.boolean(),
});

const secondVisitData = firstVisitData.extend({
  /** ISO 3166-1 alpha-2. */
  country: z
    .string()
    .regex(/^[A-Z]{2}$/)
    .nullable(),
  /** The host of the page with the link, lower case, without `www.`. */
  referrer: z.string().nullable(),
  browser: z.enum(browserFamilies).nullable(),
  os: z.enum(osFamilies).nullable(),
  device: z.enum(deviceTypes).nullable(),
  /** Primary subtag of BCP 47, lower case. */
  language: z
    .string()
    .regex(/^[a-z]{2,3}$/)
    .nullable(),
  /**
   * Identifies the visits of one visitor to one link on one UTC day: 96 bits of a keyed hash, base64url.
   */
  visitor: z
    .string()
    .regex(/^[\w-]{16}$/)
    .nullable(),
  trigger: z.enum(visitTriggers).register(responseParts, { id: 'VisitTrigger' }).nullable(),
  /** The version of the link that was served: the sequence of its last event in the topic of links. */
  version: z.int().min(1).nullable(),
});

/** Subject: the short code. */
const visitEvents = defineEvents('visits', {
  /**
   * A visitor was redirected. Everything that a library determines (bot, browser, country, …) is determined before the
   * event is written and is part of it, so that a later fold gives the same rows. `null`: unknown, or not recorded.
   */
  LinkVisited: {
    version: 3,
    data: secondVisitData.extend({
      /** The redirect rule that was applied, `rule` or `rule/entry`; `null`: none. */
      target: z
        .string()
        .regex(/^[\w-]{1,50}(?:\/[\w-]{1,50})?$/)
        .nullable(),
    }),
    retired: [
      {
        version: 1,
        data: firstVisitData,
        upcast: (first: z.output<typeof firstVisitData>) => ({
          ...first,
          country: null,
          referrer: null,
          browser: null,
          os: null,
          device: null,
          language: null,
          visitor: null,
          trigger: null,
          version: null,
          target: null,
        }),
      },
      {
        version: 2,
        data: secondVisitData,
        upcast: (second: z.output<typeof secondVisitData>) => ({ ...second, target: null }),
      },
    ],
  },
});

/** SHA-256 of a key's secret, hexadecimal. The secret itself is not stored. */
const keyHash = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .meta({ secret: true });

const firstKeyData = z.strictObject({
  name: z.string(),
  plan: planName,
  account: z.string(),
  hash: keyHash,
});

const firstKeyChange = z.strictObject({ name: z.string(), plan: planName, active: z.boolean() });

/** The fields of keys that were added together with scopes. */
const firstKeyTerms = {
  /** `null`: the plan of its root key. */
  plan: planName.nullable(),
  scopes: z.array(scopeName),
  expiresAt: timestamp.nullable(),
};

/** See `storedScopes`. */
const scopes = z.array(scopeName).nullable();

/** A key that had all scopes of its time was never restricted. */
const unlessUnrestricted = (known: Scope[]): Scope[] | null =>
  scopesBeforeDomains.every((scope) => known.includes(scope)) ? null : known;

const secondKeyData = firstKeyData.extend({
  ...firstKeyTerms,
  /** The ids of its ancestors, the root first. A root key, which an operator created, has none. */
  ancestors: z.array(z.string()),
});

const secondKeyChange = z.strictObject({
  name: z.string(),
  ...firstKeyTerms,
  /** `inactive`: deactivated by the key itself or an ancestor; `suspended`: deactivated by an operator. */
  status: z.enum(['active', 'inactive', 'suspended']).register(responseParts, { id: 'KeyStatus' }),
});

const thirdKeyChange = secondKeyChange.extend({
  /** The id of the key that deactivated an `inactive` key; `null` if the log does not name it. */
  deactivatedBy: z.string().nullable(),
});

/** Subject: the key's id. */
const keyEvents = defineEvents('accounts', {
  ApiKeyCreated: {
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
  /** All values after the change. */
  ApiKeyChanged: {
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
  /** The key has a new secret. */
  ApiKeyRotated: {
    version: 1,
    data: z.strictObject({
      hash: keyHash,
      /** All earlier secrets end at this time or earlier. */
      earlierEndAt: timestamp,
    }),
  },
  /** Permanently. */
  ApiKeyRevoked: { version: 1, data: z.strictObject({}) },
});

/** Subject: the alias, lower case. */
const overrideEvents = defineEvents('accounts', {
  /** One account may use the reserved alias. */
  AliasOverrideGranted: { version: 1, data: z.strictObject({ account: z.string() }) },
  AliasOverrideRevoked: { version: 1, data: z.strictObject({}) },
});

/** Where visitors of a domain are redirected instead of a page; `null`: they get the page. */
const domainRedirects = {
  rootRedirect: z.string().nullable(),
  notFoundRedirect: z.string().nullable(),
  expiredRedirect: z.string().nullable(),
};

/** Subject: the domain, a lower-case ASCII host without port. The event's `account` claims or has the domain. */
const domainEvents = defineEvents('accounts', {
  /** An account wants the domain. Several accounts may; the first account that verifies the domain gets it. */
  DomainClaimed: { version: 1, data: z.strictObject({ token: z.string() }) },
  /** The account has the domain. `dns`: the TXT record was found; `operator`: without a check. */
  DomainVerified: { version: 1, data: z.strictObject({ by: z.enum(['dns', 'operator']) }) },
  /** All values after the change. */
  DomainChanged: { version: 1, data: z.strictObject(domainRedirects) },
  /** The account no longer has the domain, or its claim. Its links are not found until it has the domain again. */
  DomainReleased: { version: 1, data: z.strictObject({}) },
});

const webhookTerms = {
  url: z.string(),
  /** Names of event types without versions; `null`: the default of the feed. */
  types: z.array(z.string()).nullable(),
  /** Only events of links on this domain; `null`: all. */
  domain: z.string().nullable(),
  description: z.string().nullable(),
};

/** Signs deliveries: `whsec_` and base64. */
const webhookSecret = z.string();

/** Subject: the webhook's id. */
const webhookEvents = defineEvents('accounts', {
  WebhookCreated: {
    version: 1,
    data: z.strictObject({ ...webhookTerms, secret: webhookSecret.meta({ secret: true }) }),
  },
  /** All values after the change. */
  WebhookChanged: {
    version: 1,
    data: z.strictObject({
      ...webhookTerms,
      status: z.enum(['enabled', 'paused', 'disabled']),
      /** The newest first; `endsAt` is `null` for the newest. */
      secrets: z
        .array(
          z
            .strictObject({ secret: webhookSecret, endsAt: timestamp.nullable() })
            .register(responseParts, { id: 'WebhookSecret' }),
        )
        .meta({ secret: true }),
    }),
  },
  /** Linklog delivers nothing until the account enables the webhook. */
  WebhookDisabled: { version: 1, data: z.strictObject({ reason: z.string() }) },
  /** Permanently. */
  WebhookDeleted: { version: 1, data: z.strictObject({}) },
});

/** Subject: the key's id. */
const usageEvents = defineEvents('usage', {
  /** Some or all calls of one key in one minute. */
  CallsMetered: {
    version: 1,
    data: z.strictObject({
      /** The start of the minute. The calls count in its month. */
      minute: timestamp,
      calls: z.int().min(1),
    }),
  },
  QrRendered: { version: 1, data: z.strictObject({ code: z.string() }) },
});

/** Features that operators can switch off. */
export const platformFeature = z.enum(['shortening', 'aliases', 'passwords', 'expiration', 'qr']);

/** Work on a projection that operators can request. */
export const projectionWork = z.enum(['redrive', 'rebuild', 'rollback']);
export type ProjectionWork = z.infer<typeof projectionWork>;

/** Subject: `platform`. */
const platformEvents = defineEvents('platform', {
  MaintenanceSwitched: { version: 1, data: z.strictObject({ on: z.boolean() }) },
  FeatureSwitched: {
    version: 1,
    data: z.strictObject({ feature: platformFeature, on: z.boolean() }),
  },
  /** Projections do not depend on it. */
  ProjectionWorkRequested: {
    version: 1,
    data: z.strictObject({ projection: z.string(), work: projectionWork }),
  },
});

/** All event types, by name. */
export const catalogue = {
  ...linkEvents,
  ...visitEvents,
  ...keyEvents,
  ...overrideEvents,
  ...domainEvents,
  ...webhookEvents,
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
export type UsageEvent = EventNamed<keyof typeof usageEvents>;
export type PlatformEvent = EventNamed<keyof typeof platformEvents>;

export const isLinkEvent = isOneOf(linkEvents);
export const isVisit = isOneOf(visitEvents);

/** The first event of a link. */
export type CreationEvent = EventNamed<'LinkCreated' | 'LinkImported'>;

const { LinkCreated, LinkImported } = linkEvents;
export const isCreation = isOneOf({ LinkCreated, LinkImported });
export const isApiKeyEvent = isOneOf(keyEvents);
export const isAliasOverrideEvent = isOneOf(overrideEvents);
export const isDomainEvent = isOneOf(domainEvents);
export const isWebhookEvent = isOneOf(webhookEvents);
export const isUsageEvent = isOneOf(usageEvents);
export const isPlatformEvent = isOneOf(platformEvents);
