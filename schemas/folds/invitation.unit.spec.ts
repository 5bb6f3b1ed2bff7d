import { foldSpecification } from '../testing/decider-specification.js';
import {
  at,
  invitationAccepted,
  invitationCreated,
  invitationWithdrawn,
  noon,
  shareEnded,
  someInvitation,
} from '../testing/events.js';
import { evolveInvitation, type Invitation } from './invitation.js';
import { noSubject } from './subject-state.js';

const given = foldSpecification({ initialState: noSubject, evolve: evolveInvitation });

const created = invitationCreated('i1');
const invitation: Invitation = {
  ...someInvitation,
  status: 'pending',
  account: 'acme',
  createdAt: noon.toISOString(),
  sequence: 1,
  lastEventAt: noon,
};

describe('schemas: state of an invitation', () => {
  it('does not exist at first', () => {
    given().then({ status: 'none', sequence: 0, lastEventAt: new Date(0) });
  });

  it('is pending with the terms of its creation', () => {
    given(created).then(invitation);
    const terms = { role: 'owner' as const, email: 'maria@example.com', tokenHash: 'other' };
    given(invitationCreated('i1', terms, { account: 'shop' })).then({
      ...{ ...invitation, ...terms, account: 'shop' },
    });
  });

  it('is accepted or withdrawn', () => {
    given(created)
      .when(invitationAccepted('i1', 2, { person: 'usr_1' }, { time: at(1) }))
      .thenChanges({ status: 'accepted' });
    given(created)
      .when(invitationWithdrawn('i1', 2, { time: at(1) }))
      .thenChanges({ status: 'withdrawn' });
  });

  it('ignores the end of an unknown invitation', () => {
    given(invitationAccepted('i1', 2, { person: 'usr_1' }), invitationWithdrawn('i1', 2)).then(
      noSubject,
    );
  });

  it('rejects events of other subjects', () => {
    given(created)
      .when(shareEnded('s', 2) as never)
      .thenThrows(/invitation/);
  });
});
