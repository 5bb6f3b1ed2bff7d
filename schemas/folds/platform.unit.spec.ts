import { foldSpecification } from '../testing/decider-specification.js';
import {
  at,
  codesCaseChosen,
  featureSwitched,
  maintenanceSwitched,
  noon,
  projectionWorkRequested,
} from '../testing/events.js';
import { evolvePlatform, initialPlatform } from './platform.js';

const given = foldSpecification({ initialState: initialPlatform, evolve: evolvePlatform });
const noMaintenance = { maintenance: false, maintenanceSince: null, maintenanceActor: null };
const maintained = { maintenance: true, maintenanceSince: noon, maintenanceActor: 'maria' };
const features = { shortening: true, aliases: true, passwords: true, expiration: true, qr: true };

describe('schemas: platform’s switches', () => {
  it('are on by default, except maintenance', () => {
    given().then({
      ...{ ...noMaintenance, features, caseInsensitive: false },
      ...{ sequence: 0, lastEventAt: new Date(0) },
    });
  });

  it('are switched independently, and back', () => {
    const [on, qrOff] = [
      maintenanceSwitched(1, true, { actor: 'maria' }),
      featureSwitched(2, 'qr', false, { time: at(5) }),
    ];
    given(qrOff).when(on).thenChanges(maintained);
    given(on)
      .when(qrOff)
      .thenChanges({ features: { ...features, qr: false } });
    given(on, qrOff)
      .when(featureSwitched(3, 'qr', true))
      .thenChanges({ features });
    given(on, qrOff).when(maintenanceSwitched(3, false)).thenChanges(noMaintenance);
  });

  it('have the case of codes that the first start chose', () => {
    given().when(codesCaseChosen(1)).thenChanges({ caseInsensitive: true });
    given(codesCaseChosen(1)).when(maintenanceSwitched(2, false)).thenChanges({});
  });

  it('do not change when work on a projection is requested', () => {
    given(maintenanceSwitched(1, true, { actor: 'maria' }))
      .when(projectionWorkRequested(2, 'stats', 'rebuild', { time: at(5) }))
      .thenChanges({});
  });
});
