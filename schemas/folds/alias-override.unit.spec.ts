import { foldSpecification } from '../testing/decider-specification.js';
import { at, noon, overrideGranted, overrideRevoked } from '../testing/events.js';
import { evolveAliasOverride, noOverride } from './alias-override.js';

const given = foldSpecification({ initialState: noOverride, evolve: evolveAliasOverride });

describe('schemas: override of a reserved alias', () => {
  it('has no account before it is granted', () => {
    given().then({ account: null, sequence: 0, lastEventAt: new Date(0) });
  });

  it('has the account of the last grant', () => {
    given(overrideGranted('admin', 1, 'acme')).then({
      account: 'acme',
      sequence: 1,
      lastEventAt: noon,
    });
    given(overrideGranted('admin', 1, 'acme'))
      .when(overrideGranted('admin', 2, 'other', { time: at(3) }))
      .then({ account: 'other', sequence: 2, lastEventAt: at(3) });
  });

  it('has no account after it is revoked, and may be granted again', () => {
    const revoked = overrideRevoked('admin', 2, { time: at(3) });
    given(overrideGranted('admin', 1, 'acme'))
      .when(revoked)
      .then({ account: null, sequence: 2, lastEventAt: at(3) });
    given(overrideGranted('admin', 1, 'acme'), revoked)
      .when(overrideGranted('admin', 3, 'acme', { time: at(4) }))
      .then({ account: 'acme', sequence: 3, lastEventAt: at(4) });
  });
});
