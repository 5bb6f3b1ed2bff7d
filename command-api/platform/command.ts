import {
  accepted,
  nextEvent,
  unchanged,
  type Command,
  type Decider,
} from '../../schemas/decision.js';
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
  }
>;

/** Makes the codes of the default domain case-insensitive, if the installation is new. */
export type ChooseCodesCase = Command<'ChooseCodesCase', { readonly isNew: boolean }>;

/** Writes one event per changed switch. */
export const platformDecider: Decider<
  SwitchPlatform | ChooseCodesCase,
  PlatformEvent,
  PlatformState
> = {
  initialState: initialPlatform,
  evolve: evolvePlatform,
  decide({ type, data, metadata: command }, state) {
    if (type === 'ChooseCodesCase') {
      if (!data.isNew || state.caseInsensitive) return unchanged;
      const metadata = { ...nextEvent(state, command), subject: platformSubject };
      return accepted(newEvent('CodesCaseChosen', { caseInsensitive: true }, metadata));
    }
    const { maintenance, features = {} } = data;
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
    return events.length > 0 ? { type: 'accepted', events } : unchanged;
  },
};
