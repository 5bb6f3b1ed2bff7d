import type { EventName } from '../../../schemas/events/catalogue.js';

/** What each event means, for the readers of the feed and the log. */
export const eventDescriptions: Readonly<Record<EventName, string>> = {
  LinkCreated: 'A link was created. The time of the event is the time of creation.',
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
