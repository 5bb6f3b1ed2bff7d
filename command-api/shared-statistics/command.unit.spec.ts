import { newEvent } from '../../schemas/events/codec.js';
import { at, shareEnded, someShare, statisticsShared } from '../../schemas/testing/events.js';
import { metadataOfEvent, specify } from '../testing/decisions.js';
import { shareDecider } from './command.js';

const subject = 'share-1';
const { accepts, refuses } = specify(subject, shareDecider);

const metadata = (sequence: number) => ({
  ...{ ...metadataOfEvent(), sequence, subject, account: 'acme' },
});
const { link, tokenHash, passwordHash, showDestination } = someShare;
const terms = { link, tokenHash, passwordHash, showDestination };
const share = (count: number, expiresIn: number | null = null) =>
  ({ type: 'ShareStatistics', account: 'acme', ...terms, expiresIn, count }) as const;
const end = (link: string, account = 'acme') => ({ type: 'EndShare', account, link }) as const;
const shared = [statisticsShared(subject, {}, { time: at(1) })];

describe('command API: shared statistics', () => {
  it('are shared with their terms, at most 10 times for each link', () => {
    const event = newEvent('StatisticsShared', someShare, metadata(1));
    for (const count of [0, 9]) accepts([], share(count), event);
    for (const count of [10, 11]) refuses([], share(count), 'sharesExhausted');
  });

  it('expire after the requested number of seconds', () => {
    const { time } = metadata(1);
    const expiresAt = new Date(time.getTime() + 60_000).toISOString();
    accepts(
      [],
      share(0, 60),
      newEvent('StatisticsShared', { ...someShare, expiresAt }, metadata(1)),
    );
  });

  it('are ended once, at their link and for its account only', () => {
    accepts(shared, end('spring'), newEvent('ShareEnded', { link: 'spring' }, metadata(2)));
    refuses(shared, end('autumn'), 'notFound');
    refuses(shared, end('spring', 'other'), 'notFound');
    refuses([], end('spring'), 'notFound');
    const ended = [...shared, shareEnded(subject, 2, { time: at(2) })];
    refuses(ended, end('spring'), 'notFound');
  });
});
