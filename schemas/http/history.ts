import { z } from 'zod';
import { named } from '../components.js';
import { feedEvent } from './events.js';
import { pageLimit } from './paging.js';
import { call, json, routeGroup } from './route.js';

const afterMessage = 'after must be a number that next gave';

/** The query of a link's history. */
export const historyQuery = z.object({
  after: z
    .string({ error: afterMessage })
    .regex(/^\d{1,15}$/, afterMessage)
    .transform(Number)
    .pipe(z.int().min(0))
    .default(0)
    .describe('The `next` of the previous page.'),
  limit: pageLimit.default(1_000),
});

/** CloudEvents, oldest first. */
export const historyResponse = named('LinkHistory', {
  events: z.array(feedEvent).describe('The events of the page in their order, oldest first.'),
  next: z.int().nullable().describe('The `after` of the next page; `null` at the end.'),
  actorNames: z
    .record(z.string(), z.string())
    .describe('The current names of the keys among the actors, by id.'),
});
export type HistoryResponse = z.infer<typeof historyResponse>;

export const historyRoutes = routeGroup(
  { tag: 'Links', scope: 'links:read' },
  {
    getLinkHistory: call('GET /links/:shortCode/history', 'Get the history of a short link', {
      description: 'CloudEvents without visits, oldest first.',
      query: historyQuery,
      returns: {
        200: json('A page of events.', historyResponse, {
          history: {
            events: [
              {
                specversion: '1.0',
                id: '019a3c1e-8101-7abc-8def-012345678901',
                type: 'linklog.LinkDisabled.v1',
                source: '/linklog/ledger',
                subject: 'spring-sale',
                time: '2026-05-01T12:30:00.000Z',
                datacontenttype: 'application/json',
                sequence: '0000000000000002',
                account: 'default',
                actor: 'operator',
                data: {},
              },
            ],
            next: null,
            actorNames: {},
          },
        }),
      },
    }),
  },
);
