import { platformSubject } from '../../schemas/folds/platform.js';
import { commandOf, deciderSpecification } from '../../schemas/testing/decider-specification.js';
import {
  at,
  featureSwitched,
  idOf,
  idOfEvent,
  maintenanceSwitched,
} from '../../schemas/testing/events.js';
import { platformDecider, type SwitchPlatform } from './command.js';

const command = commandOf<SwitchPlatform>(platformSubject, {
  now: at(10),
  id: idOf(1),
  actor: 'maria',
  requestId: 'request-1',
});

const given = deciderSpecification({
  ...platformDecider,
  decide: (values: SwitchPlatform['data'], state) =>
    platformDecider.decide(command({ type: 'SwitchPlatform', ...values }), state),
});

const told = (event: number) => ({
  id: idOfEvent(event),
  time: at(10),
  actor: 'maria',
  correlationId: 'request-1',
});

describe('command API: switching the platform', () => {
  it('switches what is named and leaves the rest', () => {
    given()
      .when({ maintenance: true })
      .then(maintenanceSwitched(1, true, told(1)));
    given()
      .when({ features: { qr: false } })
      .then(featureSwitched(1, 'qr', false, told(1)));
  });

  it('is an event for each switch, numbered one after the other', () => {
    given(maintenanceSwitched(1, true))
      .when({ features: { qr: false, shortening: false }, maintenance: false })
      .then(
        maintenanceSwitched(2, false, told(1)),
        featureSwitched(3, 'shortening', false, told(2)),
        featureSwitched(4, 'qr', false, told(3)),
      );
  });

  it('writes nothing where it is so already', () => {
    given().when({}).thenNothing();
    given()
      .when({ maintenance: false, features: { qr: true, aliases: undefined } })
      .thenNothing();
    given(featureSwitched(1, 'qr', false), maintenanceSwitched(2, true))
      .when({ maintenance: true, features: { qr: false } })
      .thenNothing();
  });

  it('is never told before the last event', () => {
    given(maintenanceSwitched(1, true, { time: at(99) }))
      .when({ maintenance: false })
      .then(maintenanceSwitched(2, false, { ...told(1), time: at(99) }));
  });
});
