/** Every type of event: its data, by the topic and subject that it belongs to. */
import { z } from 'zod';
import { planName } from '../plans.js';
import { firstScopes, scopeName } from '../scopes.js';
import { timestamp } from './envelope.js';
import { defineEvents, type EventOf } from './event-type.js';
import { browserFamilies, deviceTypes, osFamilies, visitTriggers } from './visitor.js';

const firstCreationData = z.strictObject({
  /** The destination, exactly as it was sent, outer white space trimmed. */
  url: z.string(),
  /** Whether the code was asked for (an alias) or generated. */
  custom: z.boolean(),
  expiresAt: timestamp.nullable(),
  maxClicks: z.int().min(1).nullable(),
  /** argon2id. Never leaves in an export. */
  passwordHash: z.string().nullable().meta({ secret: true }),
  /** The root key whose quota it spent; the actor is the key that asked for it. */
  keyId: z.string(),
});

const secondCreationData = firstCreationData.extend({
  title: z.string().exactOptional(),
  note: z.string().exactOptional(),
  tags: z.array(z.string()).exactOptional(),
});

const firstEditData = z.strictObject({
  url: z.string().exactOptional(),
  /** With this or `maxClicks`, an expiry ends: LinkExpired follows where the link is still over. */
  expiresAt: timestamp.nullable().exactOptional(),
  maxClicks: z.int().min(1).exactOptional(),
  password: z.enum(['set', 'removed']).exactOptional(),
  /** Of a password that was set. */
  passwordHash: z.string().exactOptional().meta({ secret: true }),
});

/** Every event of the topic of links. Subject: the short code. */
const linkEvents = defineEvents('links', {
  /** Time: the moment of creation. */
  LinkCreated: {
    version: 3,
    // Most links have no texts and no start. Their events, of which there are many, say nothing of them.
    data: secondCreationData.extend({
      /** Before this time the link is scheduled. */
      startsAt: timestamp.exactOptional(),
    }),
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
    ],
  },
  /** What is absent was not changed; `null` takes away. */
  LinkEdited: {
    version: 2,
    data: firstEditData.extend({
      startsAt: timestamp.nullable().exactOptional(),
      maxClicks: z.int().min(1).nullable().exactOptional(),
      /** The opening balance of a limit on a link without one: the clicks counted so far. */
      clicks: z.int().min(0).exactOptional(),
    }),
    retired: [
      {
        version: 1,
        data: firstEditData,
        upcast: (first: z.output<typeof firstEditData>) => first,
      },
    ],
  },
  /** What is absent was not changed; `null` takes away. */
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
  /** For good: the code is never given out again. */
  LinkDeleted: { version: 1, data: z.strictObject({}) },
  /** Until an edit of its end or limit, a link expires once, whatever expires it. */
  LinkExpired: { version: 1, data: z.strictObject({ reason: z.enum(['time', 'clicks']) }) },
  /** By an operator or by the web-safety check. */
  LinkBlocked: { version: 1, data: z.strictObject({ reason: z.string() }) },
  LinkUnblocked: { version: 1, data: z.strictObject({ reason: z.string() }) },
});

const firstVisitData = z.strictObject({
  /** Its number among the clicks of a link with a limit; `null` for a link without one. */
  click: z.int().min(1).nullable(),
  /** A crawler or a link previewer, by its own account: counted apart. */
  bot: z.boolean(),
});

/** Subject: the short code. */
const visitEvents = defineEvents('visits', {
  /**
   * A visitor was answered with a redirect. What a library judges of a visitor is judged before the
   * event is written and is part of it, so that a fold years later gives the same rows. `null`: not
   * known, or not recorded.
   */
  LinkVisited: {
    version: 2,
    data: firstVisitData.extend({
      /** ISO 3166-1 alpha-2. */
      country: z
        .string()
        .regex(/^[A-Z]{2}$/)
        .nullable(),
      /** The host alone of the page with the link, lower case, without `www.`. */
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
       * The same for the same visitor of the same link on the same UTC day, and for no other: 96 bits of
       * a keyed hash, base64url.
       */
      visitor: z
        .string()
        .regex(/^[\w-]{16}$/)
        .nullable(),
      trigger: z.enum(visitTriggers).nullable(),
      /** The link's, as it was served: the sequence of its last event in the topic of links. */
      version: z.int().min(1).nullable(),
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
        }),
      },
    ],
  },
});

/** SHA-256 of a key's secret, hexadecimal; the secret itself is kept nowhere. */
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

/** What a key is besides its name, since there are scopes. */
const keyTerms = {
  /** `null`: that of its root. */
  plan: planName.nullable(),
  scopes: z.array(scopeName),
  expiresAt: timestamp.nullable(),
};

const secondKeyChange = z.strictObject({
  name: z.string(),
  ...keyTerms,
  /** `inactive`: a key deactivated it, itself or an ancestor; `suspended`: an operator did. */
  status: z.enum(['active', 'inactive', 'suspended']),
});

/** Subject: the key's id. */
const keyEvents = defineEvents('accounts', {
  ApiKeyCreated: {
    version: 2,
    data: firstKeyData.extend({
      ...keyTerms,
      /** The keys that it descends from, its root first; none: an operator made it, it is a root. */
      ancestors: z.array(z.string()),
    }),
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
    ],
  },
  /** The values after the change, changed or not. */
  ApiKeyChanged: {
    version: 3,
    data: secondKeyChange.extend({
      /** The id of the key that deactivated an `inactive` key; `null` if the log does not name it. */
      deactivatedBy: z.string().nullable(),
    }),
    retired: [
      {
        version: 1,
        data: firstKeyChange,
        // Nobody but operators changed keys, and no key had other scopes, or an end.
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
        // Its actor may have changed something else of a key that was inactive before.
        upcast: (second: z.output<typeof secondKeyChange>) => ({ ...second, deactivatedBy: null }),
      },
    ],
  },
  /** It has another secret. */
  ApiKeyRotated: {
    version: 1,
    data: z.strictObject({
      hash: keyHash,
      /** All earlier secrets end then, or sooner. */
      earlierEndAt: timestamp,
    }),
  },
  /** For good. */
  ApiKeyRevoked: { version: 1, data: z.strictObject({}) },
});

/** Subject: the alias, lower case. */
const overrideEvents = defineEvents('accounts', {
  /** One account may use it although it is reserved. */
  AliasOverrideGranted: { version: 1, data: z.strictObject({ account: z.string() }) },
  AliasOverrideRevoked: { version: 1, data: z.strictObject({}) },
});

/** Subject: the key's id. */
const usageEvents = defineEvents('usage', {
  /** The metered calls of one key in one minute, or a part of them. */
  CallsMetered: {
    version: 1,
    data: z.strictObject({
      /** The minute's first moment; its month is the month that the calls count in. */
      minute: timestamp,
      calls: z.int().min(1),
    }),
  },
  QrRendered: { version: 1, data: z.strictObject({ code: z.string() }) },
});

/** What can be switched off for everybody. */
export const platformFeature = z.enum(['shortening', 'aliases', 'passwords', 'expiration', 'qr']);

/** What an operator can have done to a projection. */
export const projectionWork = z.enum(['redrive', 'rebuild', 'rollback']);
export type ProjectionWork = z.infer<typeof projectionWork>;

/** Subject: `platform`. */
const platformEvents = defineEvents('platform', {
  MaintenanceSwitched: { version: 1, data: z.strictObject({ on: z.boolean() }) },
  FeatureSwitched: {
    version: 1,
    data: z.strictObject({ feature: platformFeature, on: z.boolean() }),
  },
  /** What the log says does not depend on it: a projection is a fold, whoever builds it. */
  ProjectionWorkRequested: {
    version: 1,
    data: z.strictObject({ projection: z.string(), work: projectionWork }),
  },
});

/** Every event type, by name. */
export const catalogue = {
  ...linkEvents,
  ...visitEvents,
  ...keyEvents,
  ...overrideEvents,
  ...usageEvents,
  ...platformEvents,
};

export type EventName = keyof typeof catalogue;

/** Any event, in its current version; a union discriminated by `type`. */
export type LinklogEvent = { [Name in EventName]: EventOf<(typeof catalogue)[Name]> }[EventName];

/** The event of a name: `EventNamed<'LinkCreated'>`. */
export type EventNamed<Name extends EventName> = EventOf<(typeof catalogue)[Name]>;

/** Tells the events of a group, such as `linkEvents`, from all others. */
const isOneOf = <Group extends Partial<typeof catalogue>>(group: Group) => {
  const types = new Set<string>(Object.values(group).map(({ type }) => type));
  return (event: LinklogEvent): event is EventNamed<keyof Group & EventName> =>
    types.has(event.type);
};

export type LinkEvent = EventNamed<keyof typeof linkEvents>;
export type ApiKeyEvent = EventNamed<keyof typeof keyEvents>;
export type AliasOverrideEvent = EventNamed<keyof typeof overrideEvents>;
export type UsageEvent = EventNamed<keyof typeof usageEvents>;
export type PlatformEvent = EventNamed<keyof typeof platformEvents>;

export const isLinkEvent = isOneOf(linkEvents);
export const isApiKeyEvent = isOneOf(keyEvents);
export const isAliasOverrideEvent = isOneOf(overrideEvents);
export const isUsageEvent = isOneOf(usageEvents);
export const isPlatformEvent = isOneOf(platformEvents);
