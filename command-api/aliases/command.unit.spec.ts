import {
  commandOf,
  deciderSpecification,
  type FlatCommand,
} from '../../schemas/testing/decider-specification.js';
import { at, idOf, overrideGranted, overrideRevoked } from '../../schemas/testing/events.js';
import { aliasOverrideDecider, type SetAliasOverride } from './command.js';

const command = commandOf<SetAliasOverride>('admin', {
  now: at(10),
  id: idOf(1),
  actor: 'maria',
  requestId: 'request-1',
});

const given = deciderSpecification({
  ...aliasOverrideDecider,
  decide: (values: FlatCommand<SetAliasOverride>, state) =>
    aliasOverrideDecider.decide(command(values), state),
});

const to = (account: string | null) => ({ type: 'SetAliasOverride', account }) as const;
const told = { id: idOf(1), time: at(10), actor: 'maria', correlationId: 'request-1' };
const granted = overrideGranted('admin', 1, 'acme');

describe('command API: override of a reserved alias', () => {
  it('is granted to one account, or to another instead', () => {
    given()
      .when(to('acme'))
      .then(overrideGranted('admin', 1, 'acme', told));
    given(granted)
      .when(to('other'))
      .then(overrideGranted('admin', 2, 'other', told));
  });

  it('is revoked, and granted again', () => {
    given(granted)
      .when(to(null))
      .then(overrideRevoked('admin', 2, told));
    given(granted, overrideRevoked('admin', 2))
      .when(to('acme'))
      .then(overrideGranted('admin', 3, 'acme', told));
  });

  it('is no event where it is so already', () => {
    given().when(to(null)).thenNothing();
    given(granted).when(to('acme')).thenNothing();
    given(granted, overrideRevoked('admin', 2)).when(to(null)).thenNothing();
  });

  it('is never told before the last event', () => {
    given(overrideGranted('admin', 1, 'acme', { time: at(99) }))
      .when(to(null))
      .then(overrideRevoked('admin', 2, { ...told, time: at(99) }));
  });
});
