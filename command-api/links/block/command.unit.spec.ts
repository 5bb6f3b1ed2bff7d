import { evolveLedgerLink, initialState } from '../../../schemas/folds/ledger-link.js';
import { deciderSpecification } from '../../../schemas/testing/decider-specification.js';
import {
  at,
  blocked,
  countedIds,
  created,
  expired,
  idOf,
  unblocked,
  visited,
} from '../../../schemas/testing/events.js';
import { decideLinkBlock, type LinkBlockCommand } from './command.js';

const given = deciderSpecification({
  initialState,
  evolve: evolveLedgerLink,
  decide: (command: LinkBlockCommand, link) =>
    decideLinkBlock(command, link, {
      now: at(10),
      newId: countedIds(),
      actor: 'maria',
      requestId: 'request-1',
    }),
});

const block: LinkBlockCommand = { type: 'BlockLink', reason: 'phishing' };
const unblock: LinkBlockCommand = { type: 'UnblockLink', reason: 'a mistake' };
const made = created('spring', {}, { account: 'acme' });
const told = {
  id: idOf(1),
  time: at(10),
  account: 'acme',
  actor: 'maria',
  correlationId: 'request-1',
};

describe('command API: blocking a link', () => {
  it('blocks it, expired or not, with its reason', () => {
    given(made)
      .when(block)
      .then(blocked('spring', 2, told));
    given(made, expired('spring', 2, 'clicks'))
      .when(block)
      .then(blocked('spring', 3, told));
    given(made, blocked('spring', 2), unblocked('spring', 3))
      .when(block)
      .then(blocked('spring', 4, told));
  });

  it('changes nothing where it is blocked, whatever the reason', () => {
    given(made, blocked('spring', 2)).when(block).thenNothing();
    given(made, blocked('spring', 2))
      .when({ ...block, reason: 'spam' })
      .thenNothing();
  });

  it('is never told before the link’s last event, a visit included', () => {
    given(made, visited('spring', 1, { time: at(99) }))
      .when(block)
      .then(blocked('spring', 2, { ...told, time: at(99) }));
  });
});

describe('command API: unblocking a link', () => {
  it('lifts its block, also where it expired beneath', () => {
    given(made, blocked('spring', 2))
      .when(unblock)
      .then(unblocked('spring', 3, told));
    given(made, blocked('spring', 2), expired('spring', 3))
      .when(unblock)
      .then(unblocked('spring', 4, told));
  });

  it('changes nothing where there is no block', () => {
    given(made).when(unblock).thenNothing();
    given(made, blocked('spring', 2), unblocked('spring', 3)).when(unblock).thenNothing();
  });
});

describe('command API: blocking a link that was found unsafe', () => {
  const blockUnsafe: LinkBlockCommand = { type: 'BlockUnsafeLink', reason: 'phishing' };

  it('blocks it with the reason, as an operator would', () => {
    given(made)
      .when(blockUnsafe)
      .then(blocked('spring', 2, told));
  });

  it('changes nothing where it is blocked or expired', () => {
    given(made, blocked('spring', 2)).when(blockUnsafe).thenNothing();
    given(made, expired('spring', 2)).when(blockUnsafe).thenNothing();
  });

  it('leaves to operators what one of them has unblocked', () => {
    const cleared = [made, blocked('spring', 2), unblocked('spring', 3)];
    given(...cleared)
      .when(blockUnsafe)
      .thenNothing();
    given(...cleared)
      .when(block)
      .then(blocked('spring', 4, told));
  });
});

describe('command API: code that nobody has', () => {
  it('is neither blocked nor unblocked', () => {
    for (const command of [block, unblock, { ...block, type: 'BlockUnsafeLink' as const }]) {
      given().when(command).thenRefused('notFound');
    }
  });
});
