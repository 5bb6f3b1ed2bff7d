import { accepted, nextEvent, type Command, type Decider } from '../../schemas/decision.js';
import type { EventNamed, PlatformEvent } from '../../schemas/events/catalogue.js';
import { newEvent } from '../../schemas/events/codec.js';
import {
  evolvePlatform,
  initialPlatform,
  platformSubject,
  type PlatformState,
} from '../../schemas/folds/platform.js';

export type RequestProjectionWork = Command<
  'RequestProjectionWork',
  EventNamed<'ProjectionWorkRequested'>['data']
>;

/** Records every request, repeated ones too. */
export const projectionWorkDecider: Decider<RequestProjectionWork, PlatformEvent, PlatformState> = {
  initialState: initialPlatform,
  evolve: evolvePlatform,
  decide: ({ data, metadata }, state) =>
    accepted(
      newEvent('ProjectionWorkRequested', data, {
        ...nextEvent(state, metadata),
        subject: platformSubject,
      }),
    ),
};
