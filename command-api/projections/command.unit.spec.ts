import { evolvePlatform, initialPlatform } from '../../schemas/folds/platform.js';
import { deciderSpecification } from '../../schemas/testing/decider-specification.js';
import { at, countedIds, idOf, projectionWorkRequested } from '../../schemas/testing/events.js';
import { decideProjectionWork } from './command.js';

const given = deciderSpecification({
  initialState: initialPlatform,
  evolve: evolvePlatform,
  decide: (command: Parameters<typeof decideProjectionWork>[0], state) =>
    decideProjectionWork(command, state, {
      now: at(10),
      newId: countedIds(),
      actor: 'maria',
      requestId: 'request-1',
    }),
});

describe('command API: work on a projection', () => {
  it('is asked for as often as somebody asks', () => {
    const told = { id: idOf(1), time: at(10), actor: 'maria', correlationId: 'request-1' };
    given()
      .when({ projection: 'stats', work: 'redrive' })
      .then(projectionWorkRequested(1, 'stats', 'redrive', told));
    given(projectionWorkRequested(1, 'stats', 'redrive'))
      .when({ projection: 'stats', work: 'redrive' })
      .then(projectionWorkRequested(2, 'stats', 'redrive', told));
  });
});
