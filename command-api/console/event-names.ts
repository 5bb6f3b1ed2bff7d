/**
 * Names of event types that a webhook can select: `feedEventNames` of schemas/feed.ts, which would add zod to the
 * client.
 */
import type { EventName } from '../../schemas/events/catalogue.js';

export const linkEventNames = [
  'LinkCreated',
  'LinkImported',
  'LinkEdited',
  'LinkDescribed',
  'LinkDisabled',
  'LinkEnabled',
  'LinkDeleted',
  'LinkExpired',
  'LinkBlocked',
  'LinkUnblocked',
  'LinkVisited',
] as const satisfies readonly EventName[];

export const eventNames = [
  ...linkEventNames,
  'ApiKeyCreated',
  'ApiKeyChanged',
  'ApiKeyRotated',
  'ApiKeyRevoked',
  'DomainClaimed',
  'DomainVerified',
  'DomainChanged',
  'DomainReleased',
  'WebhookCreated',
  'WebhookChanged',
  'WebhookDisabled',
  'WebhookDeleted',
] as const satisfies readonly EventName[];
