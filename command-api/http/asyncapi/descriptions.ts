/** Descriptions of the events for readers of the feed and the log. */
import type { EventName, EventNamed } from '../../../schemas/events/catalogue.js';
import type { Envelope } from '../../../schemas/events/envelope.js';

type Descriptions<Fields> = { readonly [Field in keyof Fields]?: string };

/** The attributes that do not explain themselves. */
export const attributes: Descriptions<Envelope> = {
  id: 'Unique together with `source`.',
  type: '`linklog.<Name>.v<version>`.',
  source: '`/linklog/ledger`, or for visits the spool of an edge.',
  subject:
    'A link (`code`, on own domains `domain/code`), key ID, alias, domain, webhook ID or `platform`.',
  sequence: 'Increases with each event of a `subject`; for visits, of a `source`.',
  account: 'The account of the subject.',
  actor:
    'The ID of a key, `operator` (in the log, the name of the operator), `system`, `web-safety` or `visitor`.',
  data: 'Depends on the `type`.',
  correlationid: 'The ID of the request that caused the event.',
  causationid: 'The ID of the event that caused this one.',
  traceparent:
    'The W3C trace context of the request that caused the event, if the request had one.',
};

const passwordHash = 'argon2id.';
const hash = 'SHA-256 of the secret of the key, hexadecimal.';

const keyTerms = { plan: '`null`: the plan of the root key.', scopes: '`null`: all.' };

const webhookTerms = {
  types: 'Names of events; `null`: all except `LinkVisited`.',
  domain: 'Only events of links on this domain; `null`: all.',
};

/** Fields of data that do not explain themselves. */
export const dataFields: { readonly [Name in EventName]?: Descriptions<EventNamed<Name>['data']> } =
  {
    LinkCreated: {
      custom: 'Whether the code is an alias; otherwise it was generated.',
      passwordHash,
      keyId: 'The root key whose quota the link uses; `operator`: none, for a link of an operator.',
    },
    LinkImported: {
      custom: 'Whether the code is an alias; always true.',
      passwordHash,
      keyId: 'The root key whose quota the link uses; `operator`: none, for a link of an operator.',
      importId: 'The ID of the import.',
      source: 'The format of the file, or the service.',
      createdAt: 'The time of creation at the source, or of the import if it is unknown.',
      clicks:
        'The clicks at the source that were not imported as visits. They belong to no period.',
    },
    LinkEdited: {
      passwordHash,
      clicks: 'The clicks counted so far, if the link had no limit before.',
    },
    LinkVisited: {
      click: 'The number of the click on a link with `maxClicks`.',
      bot: 'Whether the user agent identifies itself as a crawler or link previewer.',
      country: 'ISO 3166-1 alpha-2.',
      referrer: 'The host of the page with the link, without `www.`.',
      language: 'Primary subtag of BCP 47.',
      visitor: 'The same in all visits of one visitor to one link on one UTC day.',
      trigger: '`qr`: a QR code.',
      version: 'The `sequence` of the last event of the link that the edge knew.',
      target: 'The redirect rule that was applied: `rule` or `rule/entry`.',
    },
    ApiKeyCreated: { ...keyTerms, hash, ancestors: 'IDs of keys, the root first.' },
    ApiKeyChanged: {
      ...keyTerms,
      status: '`inactive`: by the key itself or an ancestor; `suspended`: by an operator.',
      deactivatedBy: 'The ID of the key that deactivated an `inactive` key.',
    },
    ApiKeyRotated: { hash, earlierEndAt: 'All earlier secrets end at this time or earlier.' },
    DomainClaimed: { token: 'The part of the TXT record after `linklog=`.' },
    DomainVerified: { by: '`dns`: the TXT record was found; `operator`: without a check.' },
    WebhookCreated: { ...webhookTerms, secret: 'Signs deliveries.' },
    WebhookChanged: { ...webhookTerms, secrets: 'They sign deliveries, the newest first.' },
    CallsMetered: { minute: 'The start of the minute.' },
  };

export const events: Readonly<Record<EventName, string>> = {
  LinkCreated: 'A link was created. The time of the event is the time of creation.',
  LinkImported:
    'A link of another service was created. The time of the event is the time of the import.',
  LinkEdited:
    'The destination, rules, limits or password changed. An absent field is unchanged; `null` removes the value.',
  LinkDescribed:
    'The title, note or tags changed. An absent field is unchanged; `null` removes the value.',
  LinkDisabled: 'The owner disabled the link.',
  LinkEnabled: 'The owner enabled the link again.',
  LinkDeleted: 'The owner deleted the link permanently. Its code is never used again.',
  LinkExpired: 'The link passed its end, or used its last click.',
  LinkBlocked: 'An operator or the web-safety check blocked the link.',
  LinkUnblocked: 'A block of the link ended.',
  LinkVisited:
    'A visitor or a bot was redirected. `null`: unknown, or not recorded because the visitor opted out of tracking.',
  ApiKeyCreated: 'A key was created.',
  ApiKeyChanged: 'The key changed. All fields have the values after the change.',
  ApiKeyRotated: 'The key has a new secret.',
  ApiKeyRevoked: 'The key was revoked permanently.',
  AliasOverrideGranted: 'An operator allowed one account to use a reserved alias.',
  AliasOverrideRevoked: 'An operator withdrew the permission to use a reserved alias.',
  DomainClaimed: 'The account claimed the domain, which is not verified yet.',
  DomainVerified: 'The account has the domain.',
  DomainChanged:
    'The redirects of the domain changed. All fields have the values after the change; `null`: visitors get a page.',
  DomainReleased: 'The account no longer has the domain, or its claim.',
  WebhookCreated: 'A webhook was created.',
  WebhookChanged:
    'The webhook changed, or its secret was rotated. All fields have the values after the change.',
  WebhookDisabled:
    'Linklog disabled the webhook: nothing is delivered until the account enables it.',
  WebhookDeleted: 'The webhook was deleted permanently.',
  CallsMetered: 'Some or all calls of a key in one minute.',
  QrRendered: 'A key rendered a QR code.',
  MaintenanceSwitched: 'An operator switched the maintenance mode.',
  FeatureSwitched: 'An operator switched a feature.',
  ProjectionWorkRequested: 'An operator requested work on a projection.',
};
