import { z } from 'zod';
import { named } from '../components.js';
import { timestamp } from '../events/envelope.js';
import { linkStatuses } from '../folds/link-status.js';
import { accountName } from './keys.js';
import { limitUpTo } from './paging.js';
import { call, found, type OperatorRows } from './route.js';

/** The periods, in quarters of an hour. */
export const abusePeriods = { hour: 4, day: 96, week: 672 } as const;

const periodNames = ['hour', 'day', 'week'] as const satisfies (keyof typeof abusePeriods)[];
const period = z
  .enum(periodNames, { error: `period must be one of ${periodNames.join(', ')}` })
  .describe('It ends with the current quarter of an hour, and has whole quarters.');

const query = z.object({ period: period.default('day'), limit: limitUpTo(100).default(20) });

const count = z.int().min(0);

const abuseReport = named('AbuseReport', {
  period,
  links: z
    .array(
      named('ClickedLink', {
        account: accountName,
        domain: z.string().optional(),
        shortCode: z.string(),
        shortUrl: z.string(),
        url: z.string(),
        status: z.enum(linkStatuses),
        clicks: count.min(1).describe('Clicks in the period.'),
        before: count.describe('Clicks in the preceding period of the same length.'),
      }),
    )
    .max(100)
    .describe(
      'The links with the most clicks, deleted and blocked ones included, of the 100 accounts with the most clicks. ' +
        'Among more than 100,000 links and days with visits, they are estimated.',
    ),
  accounts: z
    .array(
      named('NewAccount', {
        account: accountName,
        createdAt: timestamp.describe('When its first key was created.'),
        links: count.describe('Links that its keys have created.'),
        clicks: count.describe('Clicks of all time.'),
      }),
    )
    .max(100)
    .describe('The newest accounts that have a key, newest first.'),
  destinations: z
    .array(
      named('SharedDestination', {
        host: z.string(),
        accounts: count.min(2),
        links: count.min(2),
      }),
    )
    .max(100)
    .describe(
      'The hosts that links of most accounts redirect to, of at least two. Only active links that got their destination ' +
        'in the period count, and of these the newest 10,000.',
    ),
});
export type AbuseReport = z.infer<typeof abuseReport>;

/** GET /admin/abuse */
export const abuseRoutes = {
  getAbuse: call('GET /abuse', 'Find links, accounts and destinations that may be abuse', {
    query,
    returns: found(abuseReport),
  }),
} satisfies OperatorRows;
