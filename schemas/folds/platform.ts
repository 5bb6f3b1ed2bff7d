import type { z } from 'zod';
import type { PlatformEvent, platformFeature } from '../events/catalogue.js';
import { unknownEvent } from '../events/event-type.js';

export type PlatformFeature = z.infer<typeof platformFeature>;

/** Whether maintenance and each feature is on. */
export type PlatformSwitches = Readonly<Record<PlatformFeature | 'maintenance', boolean>>;

export interface PlatformState {
  readonly maintenance: boolean;
  /** When maintenance was switched on, and the operator who did it; `null` without maintenance. */
  readonly maintenanceSince: Date | null;
  readonly maintenanceActor: string | null;
  readonly features: Readonly<Record<PlatformFeature, boolean>>;
  /** Whether letters of either case are the same in the codes of the default domain. */
  readonly caseInsensitive: boolean;
  readonly sequence: number;
  readonly lastEventAt: Date;
}

export const platformSubject = 'platform';

/** All features are on by default. */
export const initialPlatform: PlatformState = {
  maintenance: false,
  maintenanceSince: null,
  maintenanceActor: null,
  features: { shortening: true, aliases: true, passwords: true, expiration: true, qr: true },
  caseInsensitive: false,
  sequence: 0,
  lastEventAt: new Date(0),
};

/** Applies an event to the switches. The ledger's row is changed in no other way. */
export const evolvePlatform = (state: PlatformState, event: PlatformEvent): PlatformState => {
  const next = { ...state, sequence: event.sequence, lastEventAt: new Date(event.time) };
  switch (event.type) {
    case 'linklog.MaintenanceSwitched.v1':
      return {
        ...next,
        maintenance: event.data.on,
        maintenanceSince: event.data.on ? next.lastEventAt : null,
        maintenanceActor: event.data.on ? (event.actor ?? null) : null,
      };
    case 'linklog.FeatureSwitched.v1':
      return { ...next, features: { ...state.features, [event.data.feature]: event.data.on } };
    case 'linklog.CodesCaseChosen.v1':
      return { ...next, ...event.data };
    case 'linklog.ProjectionWorkRequested.v1':
      return next;
    default:
      return unknownEvent(event, 'platform');
  }
};
