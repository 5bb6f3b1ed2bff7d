import {
  at,
  blocked,
  created,
  expired,
  unblocked,
  visited,
} from '../../../schemas/testing/events.js';
import { metadataOfEvent, specify } from '../../testing/decisions.js';
import { linkBlockDecider } from './command.js';

const { accepts, ignores, refuses } = specify('spring', linkBlockDecider);

const block = { type: 'BlockLink', reason: 'phishing' } as const;
const unblock = { type: 'UnblockLink', reason: 'a mistake' } as const;
const blockUnsafe = { type: 'BlockUnsafeLink', reason: 'phishing' } as const;
const link = created('spring', {}, { account: 'acme' });
const off = [link, blocked('spring', 2)];
const cleared = [...off, unblocked('spring', 3)];
const metadata = { ...metadataOfEvent(), account: 'acme' };

describe('command API: blocks of links', () => {
  it('block active and expired links, with a reason', () => {
    accepts([link], block, blocked('spring', 2, metadata));
    accepts([link, expired('spring', 2, 'clicks')], block, blocked('spring', 3, metadata));
    accepts(cleared, block, blocked('spring', 4, metadata));
  });

  it('change nothing if the link is blocked, even for another reason', () => {
    ignores(off, block);
    ignores(off, { ...block, reason: 'spam' });
  });

  it('are never earlier than the last event of the link, including visits', () => {
    const late = blocked('spring', 2, { ...metadata, time: at(99) });
    accepts([link, visited('spring', 1, { time: at(99) })], block, late);
  });

  it('are removed, even if the link expired while it was blocked', () => {
    accepts(off, unblock, unblocked('spring', 3, metadata));
    accepts([...off, expired('spring', 3)], unblock, unblocked('spring', 4, metadata));
    ignores([link], unblock);
    ignores(cleared, unblock);
  });

  it('of unsafe links are only for active links that no operator has unblocked', () => {
    accepts([link], blockUnsafe, blocked('spring', 2, metadata));
    for (const history of [off, [link, expired('spring', 2)], cleared]) {
      ignores(history, blockUnsafe);
    }
  });

  it('are refused for an unknown code', () => {
    for (const command of [block, unblock, blockUnsafe]) refuses([], command, 'notFound');
  });
});
