import { platformSubject } from '../../schemas/folds/platform.js';
import { projectionWorkRequested } from '../../schemas/testing/events.js';
import { metadataOfEvent, specify } from '../testing/decisions.js';
import { projectionWorkDecider } from './command.js';

const { accepts } = specify(platformSubject, projectionWorkDecider);

describe('command API: work on a projection', () => {
  it('records every request, including repeated ones', () => {
    const redrive = { projection: 'stats', work: 'redrive' } as const;
    const command = { type: 'RequestProjectionWork', ...redrive } as const;
    const first = projectionWorkRequested(1, 'stats', 'redrive', metadataOfEvent());
    accepts([], command, first);
    const second = projectionWorkRequested(2, 'stats', 'redrive', metadataOfEvent());
    accepts([first], command, second);
  });
});
