import { platformSubject } from '../../schemas/folds/platform.js';
import {
  commandSpecification,
  metadataOfEvent,
} from '../../schemas/testing/decider-specification.js';
import { at, featureSwitched, maintenanceSwitched } from '../../schemas/testing/events.js';
import type { PlatformEvent } from '../../schemas/events/catalogue.js';
import { platformDecider, type SwitchPlatform } from './command.js';

const specification = commandSpecification(platformSubject, platformDecider);
const given = (...history: readonly PlatformEvent[]) => ({
  when: (data: SwitchPlatform['data']) =>
    specification(...history).when({ type: 'SwitchPlatform', ...data }),
});

describe('command API: switching the platform', () => {
  it('sets the named switches only', () => {
    given()
      .when({ maintenance: true })
      .then(maintenanceSwitched(1, true, metadataOfEvent(1)));
    given()
      .when({ features: { qr: false } })
      .then(featureSwitched(1, 'qr', false, metadataOfEvent(1)));
  });

  it('writes one event per changed switch, with consecutive sequences', () => {
    given(maintenanceSwitched(1, true))
      .when({ features: { qr: false, shortening: false }, maintenance: false })
      .then(
        maintenanceSwitched(2, false, metadataOfEvent(1)),
        featureSwitched(3, 'shortening', false, metadataOfEvent(2)),
        featureSwitched(4, 'qr', false, metadataOfEvent(3)),
      );
  });

  it('writes no event if nothing changes', () => {
    given().when({}).thenNothing();
    given()
      .when({ maintenance: false, features: { qr: true, aliases: undefined } })
      .thenNothing();
    given(featureSwitched(1, 'qr', false), maintenanceSwitched(2, true))
      .when({ maintenance: true, features: { qr: false } })
      .thenNothing();
  });

  it('is never earlier than the last event', () => {
    given(maintenanceSwitched(1, true, { time: at(99) }))
      .when({ maintenance: false })
      .then(maintenanceSwitched(2, false, { ...metadataOfEvent(1), time: at(99) }));
  });
});
