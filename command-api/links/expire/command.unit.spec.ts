import { deciderSpecification } from '../../../schemas/testing/decider-specification.js';
import { at, blocked, created, expired, idOf, visited } from '../../../schemas/testing/events.js';
import { expireLinkDecider } from './command.js';

describe('command API: expiring a link', () => {
  const given = deciderSpecification({
    ...expireLinkDecider,
    decide: (now: Date, state) =>
      expireLinkDecider.decide(
        {
          ...{ type: 'ExpireLink', subject: 'spring', data: null },
          metadata: { now, id: idOf(1), actor: 'system', requestId: null },
        },
        state,
      ),
  });
  const link = created('spring', { expiresAt: at(60).toISOString() }, { account: 'acme' });
  const expiry = (sequence: number, time: Date) => {
    const metadata = { id: idOf(1), account: 'acme', actor: 'system', time };
    return expired('spring', sequence, 'time', metadata);
  };

  it('happens from the millisecond of the end on', () => {
    given(link).when(at(59.999)).thenNothing();
    given(link)
      .when(at(60))
      .then(expiry(2, at(60)));
    given(link)
      .when(at(90))
      .then(expiry(2, at(90)));
  });

  it('happens once', () => {
    given(link, expired('spring', 2, 'time'))
      .when(at(90))
      .thenNothing();
    given(link, expired('spring', 2, 'clicks'))
      .when(at(90))
      .thenNothing();
  });

  it('also happens to a blocked link', () => {
    given(link, blocked('spring', 2, { time: at(5) }))
      .when(at(90))
      .then(expiry(3, at(90)));
  });

  it('is never earlier than the last event of the link', () => {
    given(link, visited('spring', 1, { time: at(100) }))
      .when(at(90))
      .then(expiry(2, at(100)));
  });

  it('does not happen to links without an end and to unused codes', () => {
    given(created('spring')).when(at(1e9)).thenNothing();
    given().when(at(1e9)).thenNothing();
  });
});
