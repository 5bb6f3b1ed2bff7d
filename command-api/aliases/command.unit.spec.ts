import {
  commandSpecification,
  metadataOfEvent,
} from '../../schemas/testing/decider-specification.js';
import { at, overrideGranted, overrideRevoked } from '../../schemas/testing/events.js';
import { aliasOverrideDecider } from './command.js';

const given = commandSpecification('admin', aliasOverrideDecider);
const to = (account: string | null) => ({ type: 'SetAliasOverride', account }) as const;
const metadata = metadataOfEvent();
const granted = overrideGranted('admin', 1, 'acme');
const revoked = overrideRevoked('admin', 2);

describe('command API: override of a reserved alias', () => {
  it('is granted to one account, replaced, revoked and granted again', () => {
    given()
      .when(to('acme'))
      .then(overrideGranted('admin', 1, 'acme', metadata));
    given(granted)
      .when(to('other'))
      .then(overrideGranted('admin', 2, 'other', metadata));
    given(granted)
      .when(to(null))
      .then(overrideRevoked('admin', 2, metadata));
    given(granted, revoked)
      .when(to('acme'))
      .then(overrideGranted('admin', 3, 'acme', metadata));
  });

  it('writes no event if nothing changes', () => {
    given().when(to(null)).thenNothing();
    given(granted).when(to('acme')).thenNothing();
    given(granted, revoked).when(to(null)).thenNothing();
  });

  it('is never earlier than the last event', () => {
    given(overrideGranted('admin', 1, 'acme', { time: at(99) }))
      .when(to(null))
      .then(overrideRevoked('admin', 2, { ...metadata, time: at(99) }));
  });
});
