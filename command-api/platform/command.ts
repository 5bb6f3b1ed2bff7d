import {
  nextEvent,
  unchanged,
  type Decision,
  type DecisionContext,
} from '../../schemas/decision.js';
import { newEvent } from '../../schemas/events/codec.js';
import type { PlatformEvent } from '../../schemas/events/catalogue.js';
import {
  evolvePlatform,
  platformSubject,
  type PlatformFeature,
  type PlatformState,
} from '../../schemas/folds/platform.js';

/** The switches to be set; those left out stay as they are. */
export interface SwitchPlatform {
  readonly maintenance?: boolean | undefined;
  readonly features?: Readonly<Partial<Record<PlatformFeature, boolean | undefined>>> | undefined;
}

/** One event for each switch that is not yet as it should be. */
export const decidePlatform = (
  { maintenance, features = {} }: SwitchPlatform,
  state: PlatformState,
  context: DecisionContext,
): Decision<PlatformEvent> => {
  const events: PlatformEvent[] = [];
  const metadata = () => ({
    ...nextEvent(events.reduce(evolvePlatform, state), context),
    subject: platformSubject,
  });
  if (maintenance !== undefined && maintenance !== state.maintenance) {
    events.push(newEvent('MaintenanceSwitched', { on: maintenance }, metadata()));
  }
  for (const feature of Object.keys(state.features) as PlatformFeature[]) {
    const on = features[feature];
    if (on !== undefined && on !== state.features[feature]) {
      events.push(newEvent('FeatureSwitched', { feature, on }, metadata()));
    }
  }
  return events.length > 0 ? { type: 'accepted', events } : unchanged;
};
