import { platformSubject } from '../../schemas/folds/platform.js';
import {
  at,
  codesCaseChosen,
  featureSwitched,
  maintenanceSwitched,
} from '../../schemas/testing/events.js';
import { metadataOfEvent, specify } from '../testing/decisions.js';
import { platformDecider, type SwitchPlatform } from './command.js';

const { accepts, ignores } = specify(platformSubject, platformDecider);
const to = (data: SwitchPlatform['data']) => ({ type: 'SwitchPlatform', ...data }) as const;

describe('command API: switching the platform', () => {
  it('sets the named switches only', () => {
    const metadata = metadataOfEvent(1);
    accepts([], to({ maintenance: true }), maintenanceSwitched(1, true, metadata));
    accepts([], to({ features: { qr: false } }), featureSwitched(1, 'qr', false, metadata));
  });

  it('writes one event per changed switch, with consecutive sequences', () => {
    accepts(
      [maintenanceSwitched(1, true)],
      to({ features: { qr: false, shortening: false }, maintenance: false }),
      maintenanceSwitched(2, false, metadataOfEvent(1)),
      featureSwitched(3, 'shortening', false, metadataOfEvent(2)),
      featureSwitched(4, 'qr', false, metadataOfEvent(3)),
    );
  });

  it('writes no event if nothing changes', () => {
    ignores([], to({}));
    ignores([], to({ maintenance: false, features: { qr: true, aliases: undefined } }));
    const history = [featureSwitched(1, 'qr', false), maintenanceSwitched(2, true)];
    ignores(history, to({ maintenance: true, features: { qr: false } }));
  });

  it('makes codes case-insensitive once', () => {
    accepts([], to({ caseInsensitive: true }), codesCaseChosen(1, metadataOfEvent(1)));
    ignores([codesCaseChosen(1)], to({ caseInsensitive: true }));
  });

  it('is never earlier than the last event', () => {
    const late = { time: at(99) };
    const event = maintenanceSwitched(2, false, { ...metadataOfEvent(1), ...late });
    accepts([maintenanceSwitched(1, true, late)], to({ maintenance: false }), event);
  });
});
