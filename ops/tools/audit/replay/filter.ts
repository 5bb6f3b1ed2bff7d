import {
  catalogue,
  type EventName,
  type LinklogEvent,
} from '../../../../schemas/events/catalogue.js';
import { topicNames, topics, type TopicName } from '../../../../schemas/events/topics.js';

export interface EventFilter {
  /** The first time, in the format of `toISOString`. */
  readonly since?: string | undefined;
  /** The time after the last one, in the format of `toISOString`. */
  readonly until?: string | undefined;
  readonly types?: readonly EventName[] | undefined;
  readonly topics?: readonly TopicName[] | undefined;
  /** The subject of a link. */
  readonly subject?: string | undefined;
  readonly account?: string | undefined;
  readonly actor?: string | undefined;
  readonly request?: string | undefined;
}

/** The topics whose subject, and thus record key, is a link. */
const topicsOfLinks: readonly TopicName[] = [topics.links.name, topics.visits.name];

/** Returns the topics that may have matching events; empty if no event can match. */
export const topicsOf = ({ types, topics: named, subject }: EventFilter): readonly TopicName[] => {
  const ofTypes = types?.map((name): TopicName => topics[catalogue[name].topic].name);
  return topicNames.filter(
    (topic) =>
      (named?.includes(topic) ?? true) &&
      (ofTypes?.includes(topic) ?? true) &&
      (subject === undefined || topicsOfLinks.includes(topic)),
  );
};

export const matcherOf = (filter: EventFilter): ((event: LinklogEvent) => boolean) => {
  const { since, until, subject, account, actor, request } = filter;
  const types = filter.types && new Set<string>(filter.types.map((name) => catalogue[name].type));
  // Timestamps have a fixed format, so they compare as text.
  return (event) =>
    (since === undefined || event.time >= since) &&
    (until === undefined || event.time < until) &&
    (types?.has(event.type) ?? true) &&
    (subject === undefined || event.subject === subject) &&
    (account === undefined || event.account === account) &&
    (actor === undefined || event.actor === actor) &&
    (request === undefined || event.correlationid === request);
};
