import { nextEvent, unchanged, type Command, type Decider } from '../../schemas/decision.js';
import { newEvent } from '../../schemas/events/codec.js';
import type { PlatformEvent } from '../../schemas/events/catalogue.js';
import {
  evolvePlatform,
  initialPlatform,
  platformSubject,
  type PlatformFeature,
  type PlatformState,
} from '../../schemas/folds/platform.js';

/** Sets switches; absent ones are unchanged. */
export type SwitchPlatform = Command<
  'SwitchPlatform',
  {
    readonly maintenance?: boolean | undefined;
    readonly features?: Readonly<Partial<Record<PlatformFeature, boolean | undefined>>> | undefined;
    /** Only for a new installation. */
    readonly caseInsensitive?: true;
  }
>;

/** Writes one event per changed switch. */
export const platformDecider: Decider<SwitchPlatform, PlatformEvent, PlatformState> = {
  initialState: initialPlatform,
  evolve: evolvePlatform,
  decide({ data: { maintenance, features = {}, caseInsensitive }, metadata: command }, state) {
    const events: PlatformEvent[] = [];
    const metadata = () => ({
      ...nextEvent(events.reduce(evolvePlatform, state), command, events.length),
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
    if (caseInsensitive && !state.caseInsensitive) {
      events.push(newEvent('CodesCaseChosen', { caseInsensitive }, metadata()));
    }
    return events.length > 0 ? { type: 'accepted', events } : unchanged;
  },
};
