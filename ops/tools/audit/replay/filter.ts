import {
  catalogue,
  type EventName,
  type LinklogEvent,
} from '../../../../schemas/events/catalogue.js';
import { topicNames, topics, type TopicName } from '../../../../schemas/events/topics.js';

/** Which events are asked for: those that meet all of it. */
export interface EventFilter {
  /** As `toISOString` writes it; an event of that moment is in. */
  readonly since?: string | undefined;
  /** As `toISOString` writes it; an event of that moment is not in. */
  readonly until?: string | undefined;
  readonly types?: readonly EventName[] | undefined;
  readonly topics?: readonly TopicName[] | undefined;
  /** A short code: what was done to the link, and its visits. */
  readonly code?: string | undefined;
  readonly account?: string | undefined;
  readonly actor?: string | undefined;
  readonly request?: string | undefined;
}

/** Where a short code is the subject, and so the key: elsewhere subjects are keys and aliases. */
const topicsOfCodes: readonly TopicName[] = [topics.links.name, topics.visits.name];

/** The topics that may hold what is asked for; none when no event can meet all of the filter. */
export const topicsOf = ({ types, topics: named, code }: EventFilter): readonly TopicName[] => {
  const ofTypes = types?.map((name): TopicName => topics[catalogue[name].topic].name);
  return topicNames.filter(
    (topic) =>
      (named?.includes(topic) ?? true) &&
      (ofTypes?.includes(topic) ?? true) &&
      (code === undefined || topicsOfCodes.includes(topic)),
  );
};

/** Whether an event of such a topic is asked for. */
export const matcherOf = (filter: EventFilter): ((event: LinklogEvent) => boolean) => {
  const { since, until, code, account, actor, request } = filter;
  const types = filter.types && new Set<string>(filter.types.map((name) => catalogue[name].type));
  // Times have one spelling, of one width: so their texts sort as they do.
  return (event) =>
    (since === undefined || event.time >= since) &&
    (until === undefined || event.time < until) &&
    (types?.has(event.type) ?? true) &&
    (code === undefined || event.subject === code) &&
    (account === undefined || event.account === account) &&
    (actor === undefined || event.actor === actor) &&
    (request === undefined || event.correlationid === request);
};
