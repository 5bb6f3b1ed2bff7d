/** The events that the feed of an account has. */
import { catalogue, type EventName } from './events/catalogue.js';

const isInFeed = ({ name, topic }: (typeof catalogue)[EventName]): boolean =>
  (topic === 'links' || topic === 'visits' || topic === 'accounts') &&
  name !== 'AliasOverrideGranted' &&
  name !== 'AliasOverrideRevoked';

/** Names of event types, without versions. */
export const feedEventNames: readonly EventName[] = Object.values(catalogue)
  .filter(isInFeed)
  .map(({ name }) => name);

/** The names of a feed whose types are not specified. */
export const defaultFeedNames: readonly EventName[] = feedEventNames.filter(
  (name) => name !== 'LinkVisited',
);

export const isFeedEventName = (name: string): name is EventName =>
  feedEventNames.some((known) => known === name);

/** The types of names. A name that a later version of Linklog knows has none. */
export const typesOfNames = (names: readonly string[]): ReadonlySet<string> =>
  new Set(names.filter(isFeedEventName).map((name) => catalogue[name].type));
