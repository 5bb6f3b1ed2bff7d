import type { Webhook } from '../../schemas/folds/webhook.js';
import { defaultFeedNames, typesOfNames } from '../../schemas/feed.js';
import type { FeedFilter } from '../feed/filter.js';

/** The events that a webhook delivers. */
export const webhookFilter = ({
  account,
  types,
  domain,
}: Pick<Webhook, 'account' | 'types' | 'domain'>): FeedFilter => ({
  account,
  types: typesOfNames(types ?? defaultFeedNames),
  subject: null,
  domain,
});
