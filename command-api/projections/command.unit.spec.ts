import { platformSubject } from '../../schemas/folds/platform.js';
import {
  commandOf,
  deciderSpecification,
  type FlatCommand,
} from '../../schemas/testing/decider-specification.js';
import { at, idOf, projectionWorkRequested } from '../../schemas/testing/events.js';
import { projectionWorkDecider, type RequestProjectionWork } from './command.js';

const command = commandOf<RequestProjectionWork>(platformSubject, {
  now: at(10),
  id: idOf(1),
  actor: 'maria',
  requestId: 'request-1',
});

const given = deciderSpecification({
  ...projectionWorkDecider,
  decide: (values: FlatCommand<RequestProjectionWork>, state) =>
    projectionWorkDecider.decide(command(values), state),
});

describe('command API: work on a projection', () => {
  it('records every request, repeated ones too', () => {
    const metadata = { id: idOf(1), time: at(10), actor: 'maria', correlationId: 'request-1' };
    given()
      .when({ type: 'RequestProjectionWork', projection: 'stats', work: 'redrive' })
      .then(projectionWorkRequested(1, 'stats', 'redrive', metadata));
    given(projectionWorkRequested(1, 'stats', 'redrive'))
      .when({ type: 'RequestProjectionWork', projection: 'stats', work: 'redrive' })
      .then(projectionWorkRequested(2, 'stats', 'redrive', metadata));
  });
});
