import { newEvent } from '../../schemas/events/codec.js';
import { notBefore } from '../../schemas/folds/ledger-link.js';
import {
  evolvePlatform,
  platformSubject,
  type PlatformEvent,
  type PlatformFeature,
  type PlatformState,
} from '../../schemas/folds/platform.js';
import type { OperatorCircumstances } from './circumstances.js';

/** The switches to be set; those left out stay as they are. */
export interface SwitchPlatform {
  readonly maintenance?: boolean | undefined;
  readonly features?: Readonly<Partial<Record<PlatformFeature, boolean | undefined>>> | undefined;
}

/** One event for each switch that is not yet as it should be. */
export const decidePlatform = (
  command: SwitchPlatform,
  state: PlatformState,
  { now, newId, actor, requestId }: OperatorCircumstances,
): readonly PlatformEvent[] => {
  const events: PlatformEvent[] = [];
  let current = state;
  const metadata = () => ({
    id: newId(),
    subject: platformSubject,
    time: notBefore(now, current.lastEventAt),
    sequence: current.sequence + 1,
    actor,
    correlationId: requestId,
  });
  const add = (event: PlatformEvent): void => {
    events.push(event);
    current = evolvePlatform(current, event);
  };
  const { maintenance, features = {} } = command;
  if (maintenance !== undefined && maintenance !== state.maintenance) {
    add(newEvent('MaintenanceSwitched', { on: maintenance }, metadata()));
  }
  for (const feature of Object.keys(state.features) as PlatformFeature[]) {
    const on = features[feature];
    if (on !== undefined && on !== state.features[feature]) {
      add(newEvent('FeatureSwitched', { feature, on }, metadata()));
    }
  }
  return events;
};
