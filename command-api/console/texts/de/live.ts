import type { FormatNumber } from '../../numbers.js';
import type { Texts } from '../en/texts.js';

export const live = (number: FormatNumber): Texts['live'] => ({
  live: 'Live',
  states: {
    connecting: 'Verbinden',
    live: 'Live',
    reconnecting: 'Verbindung wird wiederhergestellt',
    paused: 'Angehalten',
    ended: 'Beendet',
  },
  pause: 'Anhalten',
  continue: 'Fortsetzen',
  newEvents: (count) => `Neue Ereignisse: ${number(count)}`,
  empty: 'Besuche und Änderungen erscheinen hier, sobald sie geschehen.',
  visit: 'Besuch',
  bot: 'Bot',
  from: (host) => `von ${host}`,
  rule: (name) => `Regel ${name}`,
});
