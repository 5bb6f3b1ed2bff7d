import {
  commandSpecification,
  metadataOfEvent,
  type FlatCommand,
} from '../../../schemas/testing/decider-specification.js';
import {
  at,
  blocked,
  created,
  expired,
  unblocked,
  visited,
} from '../../../schemas/testing/events.js';
import { linkBlockDecider, type LinkBlockCommand } from './command.js';

const given = commandSpecification('spring', linkBlockDecider);

const block: FlatCommand<LinkBlockCommand> = { type: 'BlockLink', reason: 'phishing' };
const unblock: FlatCommand<LinkBlockCommand> = { type: 'UnblockLink', reason: 'a mistake' };
const link = created('spring', {}, { account: 'acme' });
const metadata = { ...metadataOfEvent(), account: 'acme' };

describe('command API: blocking a link', () => {
  it('blocks active and expired links, with a reason', () => {
    given(link)
      .when(block)
      .then(blocked('spring', 2, metadata));
    given(link, expired('spring', 2, 'clicks'))
      .when(block)
      .then(blocked('spring', 3, metadata));
    given(link, blocked('spring', 2), unblocked('spring', 3))
      .when(block)
      .then(blocked('spring', 4, metadata));
  });

  it('changes nothing if the link is blocked, even for another reason', () => {
    given(link, blocked('spring', 2)).when(block).thenNothing();
    given(link, blocked('spring', 2))
      .when({ ...block, reason: 'spam' })
      .thenNothing();
  });

  it('is never earlier than the last event of the link, including visits', () => {
    given(link, visited('spring', 1, { time: at(99) }))
      .when(block)
      .then(blocked('spring', 2, { ...metadata, time: at(99) }));
  });
});

describe('command API: unblocking a link', () => {
  it('unblocks a link, even if it expired while it was blocked', () => {
    given(link, blocked('spring', 2))
      .when(unblock)
      .then(unblocked('spring', 3, metadata));
    given(link, blocked('spring', 2), expired('spring', 3))
      .when(unblock)
      .then(unblocked('spring', 4, metadata));
  });

  it('changes nothing if the link is not blocked', () => {
    given(link).when(unblock).thenNothing();
    given(link, blocked('spring', 2), unblocked('spring', 3)).when(unblock).thenNothing();
  });
});

describe('command API: blocking an unsafe link', () => {
  const blockUnsafe = { ...block, type: 'BlockUnsafeLink' } as const;

  it('blocks it with the reason', () => {
    given(link)
      .when(blockUnsafe)
      .then(blocked('spring', 2, metadata));
  });

  it('changes nothing if the link is blocked or expired', () => {
    given(link, blocked('spring', 2)).when(blockUnsafe).thenNothing();
    given(link, expired('spring', 2)).when(blockUnsafe).thenNothing();
  });

  it('does not block a link that an operator has unblocked', () => {
    const cleared = [link, blocked('spring', 2), unblocked('spring', 3)];
    given(...cleared)
      .when(blockUnsafe)
      .thenNothing();
    given(...cleared)
      .when(block)
      .then(blocked('spring', 4, metadata));
  });
});

describe('command API: blocking an unknown code', () => {
  it('is refused', () => {
    for (const values of [block, unblock, { ...block, type: 'BlockUnsafeLink' } as const]) {
      given().when(values).thenRefused('notFound');
    }
  });
});
