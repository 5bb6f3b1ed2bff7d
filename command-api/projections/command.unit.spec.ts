import { platformSubject } from '../../schemas/folds/platform.js';
import {
  commandSpecification,
  metadataOfEvent,
} from '../../schemas/testing/decider-specification.js';
import { projectionWorkRequested } from '../../schemas/testing/events.js';
import { projectionWorkDecider } from './command.js';

const given = commandSpecification(platformSubject, projectionWorkDecider);

describe('command API: work on a projection', () => {
  it('records every request, including repeated ones', () => {
    const redrive = { projection: 'stats', work: 'redrive' } as const;
    const command = { type: 'RequestProjectionWork', ...redrive } as const;
    given()
      .when(command)
      .then(projectionWorkRequested(1, 'stats', 'redrive', metadataOfEvent()));
    given(projectionWorkRequested(1, 'stats', 'redrive'))
      .when(command)
      .then(projectionWorkRequested(2, 'stats', 'redrive', metadataOfEvent()));
  });
});
