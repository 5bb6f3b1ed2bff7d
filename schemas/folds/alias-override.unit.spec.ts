import { foldSpecification } from '../testing/decider-specification.js';
import { at, overrideGranted, overrideRevoked } from '../testing/events.js';
import { evolveAliasOverride, noOverride } from './alias-override.js';

const given = foldSpecification({ initialState: noOverride, evolve: evolveAliasOverride });

describe('schemas: override of a reserved alias', () => {
  it('has the account of the last grant, and none after it is revoked', () => {
    given().then({ account: null, sequence: 0, lastEventAt: new Date(0) });
    const [granted, revoked] = [overrideGranted('admin', 1, 'acme'), overrideRevoked('admin', 2)];
    const again = overrideGranted('admin', 3, 'other', { time: at(3) });
    given().when(granted).thenChanges({ account: 'acme' });
    given(granted).when(again).thenChanges({ account: 'other' });
    given(granted).when(revoked).thenChanges({ account: null });
    given(granted, revoked).when(again).thenChanges({ account: 'other' });
  });
});
