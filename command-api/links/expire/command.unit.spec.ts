import { deciderSpecification } from '../../../schemas/testing/decider-specification.js';
import { at, blocked, created, expired, idOf, visited } from '../../../schemas/testing/events.js';
import { decisionsOf } from '../../testing/decisions.js';
import { expireLinkDecider } from './command.js';

describe('command API: expiring a link', () => {
  const { accepts, ignores } = decisionsOf(
    deciderSpecification({
      ...expireLinkDecider,
      decide: (now: Date, state) => {
        const metadata = { now, id: idOf(1), actor: 'system', requestId: null };
        const command = { type: 'ExpireLink', subject: 'spring', data: null, metadata } as const;
        return expireLinkDecider.decide(command, state);
      },
    }),
  );
  const link = created('spring', { expiresAt: at(60).toISOString() }, { account: 'acme' });
  const expiry = (sequence: number, time: Date) =>
    expired('spring', sequence, 'time', { id: idOf(1), account: 'acme', actor: 'system', time });

  it('happens from the millisecond of the end on, also to a blocked link', () => {
    ignores([link], at(59.999));
    for (const now of [at(60), at(90)]) accepts([link], now, expiry(2, now));
    accepts([link, blocked('spring', 2, { time: at(5) })], at(90), expiry(3, at(90)));
  });

  it('happens once', () => {
    ignores([link, expired('spring', 2, 'time')], at(90));
    ignores([link, expired('spring', 2, 'clicks')], at(90));
  });

  it('is never earlier than the last event of the link', () => {
    accepts([link, visited('spring', 1, { time: at(100) })], at(90), expiry(2, at(100)));
  });

  it('does not happen to links without an end and to unused codes', () => {
    ignores([created('spring')], at(1e9));
    ignores([], at(1e9));
  });
});
