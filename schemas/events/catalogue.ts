import { keyEvents, overrideEvents } from './account-events.js';
import type { EventOf } from './event-type.js';
import { linkEvents, visitEvents } from './link-events.js';
import { platformEvents } from './platform-events.js';
import { usageEvents } from './usage-events.js';

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
