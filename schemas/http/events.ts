import { z } from 'zod';
import { describedLike, named, responseParts } from '../components.js';
import { envelope } from '../events/envelope.js';
import { feedEventNames, isFeedEventName } from '../feed.js';
import { accountName } from './keys.js';
import { domainName, requestedCode } from './link-address.js';
import { pageLimit } from './paging.js';
import { repeatable } from './query.js';
import { call, json, routeGroup } from './route.js';

export const typesMessage = `types must be a list of ${feedEventNames.join(', ')}`;

/** Names of event types in a query: `types=LinkCreated,LinkVisited`. */
const eventTypes = repeatable(typesMessage)
  .refine((names) => names.every(isFeedEventName), typesMessage)
  .meta({
    type: 'string',
    description: `Names of event types, comma-separated or repeated: ${feedEventNames.join(', ')}. Default: all but LinkVisited.`,
    examples: ['LinkCreated,LinkVisited'],
  });

export const cursorMalformed = 'after must be start, now or a cursor';

export const eventsQuery = z.object({
  types: eventTypes.optional(),
  after: z
    .string({ error: cursorMalformed })
    .optional()
    .describe('`start`, `now` or a cursor. Default: `start` for a page, `now` for a stream.'),
  limit: pageLimit.default(100),
  shortCode: requestedCode.optional().describe('Only events of this link.'),
  domain: domainName.optional().describe('Only events of links on this domain.'),
});
export const operatorsEventsQuery = eventsQuery.extend({
  account: accountName.default('default'),
});

export type EventsQuery = z.output<typeof eventsQuery>;

export const feedEvent = z
  .looseObject(
    describedLike(envelope, {
      specversion: z.literal('1.0'),
      id: z.string(),
      type: z.string(),
      source: z.string(),
      subject: z.string(),
      time: z.iso.datetime(),
      datacontenttype: z.literal('application/json'),
      sequence: z.string(),
      account: z.string().optional(),
      actor: z.string().optional(),
      data: z.record(z.string(), z.unknown()),
    }),
  )
  .register(responseParts, { id: 'CloudEvent' });

/** A page of `GET /v2/events`. */
export const eventsResponse = named('EventPage', {
  events: z.array(feedEvent).describe('The events of the page, in the order of the log.'),
  next: z.string().describe('The cursor after the page. An empty page at the end repeats `after`.'),
});

const cursor = 'AbrpdQ1G99MhAAAAAAABAAABAAAAAAAAAACAPtmc';

const exampleEvent = {
  specversion: '1.0',
  id: '019a3c1e-7b31-7c41-9d5e-2f6b8a1c4d71',
  type: 'linklog.LinkDisabled.v1',
  source: '/linklog/ledger',
  subject: 'spring-sale',
  time: '2026-05-01T12:00:00.000Z',
  datacontenttype: 'application/json',
  sequence: '0000000000000002',
  account: 'default',
  actor: '019a3c1e-7b31-7c41-9d5e-2f6b8a1c4d71',
  data: {},
};

export const eventRoutes = routeGroup(
  { tag: 'Events', scope: 'events:read' },
  {
    getEvents: call('GET /events', 'Read the events of the account', {
      description:
        'A page, or a stream for `Accept: text/event-stream`: messages with `id` (a cursor) and `data` (an event). A client that stores the cursor together with ' +
        'the effect of the events misses none. See `/asyncapi.json` for the events.',
      query: eventsQuery,
      headers: {
        'Last-Event-ID':
          'Of a stream that reconnects: a cursor, which takes precedence over `after`.',
      },
      returns: {
        200: json('A page of events in the order of the log.', eventsResponse, {
          events: { events: [exampleEvent], next: cursor },
        }),
      },
      errors: [409],
    }),
  },
);
