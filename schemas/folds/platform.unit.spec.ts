import { foldSpecification } from '../testing/decider-specification.js';
import {
  at,
  featureSwitched,
  maintenanceSwitched,
  noon,
  projectionWorkRequested,
} from '../testing/events.js';
import { evolvePlatform, initialPlatform } from './platform.js';

const given = foldSpecification({ initialState: initialPlatform, evolve: evolvePlatform });
const noMaintenance = { maintenance: false, maintenanceSince: null, maintenanceActor: null };
const maintained = { maintenance: true, maintenanceSince: noon, maintenanceActor: 'maria' };
const allOn = { shortening: true, aliases: true, passwords: true, expiration: true, qr: true };

describe('schemas: platform’s switches', () => {
  it('are on by default, except maintenance', () => {
    given().then({
      ...noMaintenance,
      features: allOn,
      sequence: 0,
      lastEventAt: new Date(0),
    });
  });

  it('are switched independently', () => {
    const off = { ...allOn, qr: false };
    given(maintenanceSwitched(1, true, { actor: 'maria' }))
      .when(featureSwitched(2, 'qr', false, { time: at(5) }))
      .then({ ...maintained, features: off, sequence: 2, lastEventAt: at(5) });
    given(featureSwitched(1, 'qr', false))
      .when(maintenanceSwitched(2, true, { actor: 'maria' }))
      .then({ ...maintained, features: off, sequence: 2, lastEventAt: noon });
  });

  it('may be switched back', () => {
    given(maintenanceSwitched(1, true, { actor: 'maria' }), featureSwitched(2, 'aliases', false))
      .when(featureSwitched(3, 'aliases', true))
      .then({ ...maintained, features: allOn, sequence: 3, lastEventAt: noon });
    given(maintenanceSwitched(1, true, { actor: 'maria' }))
      .when(maintenanceSwitched(2, false))
      .then({ ...noMaintenance, features: allOn, sequence: 2, lastEventAt: noon });
  });

  it('do not change when work on a projection is requested', () => {
    given(maintenanceSwitched(1, true, { actor: 'maria' }))
      .when(projectionWorkRequested(2, 'stats', 'rebuild', { time: at(5) }))
      .then({ ...maintained, features: allOn, sequence: 2, lastEventAt: at(5) });
  });
});
