import * as accountEvents from './account-events.js';
import type { EventOf } from './event-type.js';
import * as linkEvents from './link-events.js';
import * as platformEvents from './platform-events.js';
import * as usageEvents from './usage-events.js';
import * as visitEvents from './visit-events.js';

/** Every event type there is, by name. */
export const catalogue = {
  ...linkEvents,
  ...visitEvents,
  ...accountEvents,
  ...usageEvents,
  MaintenanceSwitched: platformEvents.MaintenanceSwitched,
  FeatureSwitched: platformEvents.FeatureSwitched,
};

export type EventName = keyof typeof catalogue;

/** Any event, in its current version; a union discriminated by `type`. */
export type LinklogEvent = { [Name in EventName]: EventOf<(typeof catalogue)[Name]> }[EventName];

/** The event of a name: `EventNamed<'LinkCreated'>`. */
export type EventNamed<Name extends EventName> = EventOf<(typeof catalogue)[Name]>;

/** What may stand in the topic of links: every event of `link-events.ts`. */
export type LinkEvent = EventNamed<keyof typeof linkEvents>;
