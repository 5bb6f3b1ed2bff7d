import {
  accepted,
  nextEvent,
  type Decision,
  type DecisionContext,
} from '../../schemas/decision.js';
import type { EventNamed, PlatformEvent } from '../../schemas/events/catalogue.js';
import { newEvent } from '../../schemas/events/codec.js';
import { platformSubject, type PlatformState } from '../../schemas/folds/platform.js';

/** Whatever was asked for before, it is asked for again. */
export const decideProjectionWork = (
  asked: EventNamed<'ProjectionWorkRequested'>['data'],
  state: PlatformState,
  context: DecisionContext,
): Decision<PlatformEvent> =>
  accepted(
    newEvent('ProjectionWorkRequested', asked, {
      ...nextEvent(state, context),
      subject: platformSubject,
    }),
  );
