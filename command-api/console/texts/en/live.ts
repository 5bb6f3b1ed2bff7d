import type { FormatNumber } from '../../numbers.js';

export const live = (number: FormatNumber) => ({
  live: 'Live',
  states: {
    connecting: 'Connecting',
    live: 'Live',
    reconnecting: 'Reconnecting',
    paused: 'Paused',
    ended: 'Ended',
  },
  pause: 'Pause',
  continue: 'Continue',
  newEvents: (count: number) => `New events: ${number(count)}`,
  empty: 'Visits and changes appear here when they happen.',
  visit: 'Visit',
  bot: 'Bot',
  from: (host: string) => `from ${host}`,
  rule: (name: string) => `rule ${name}`,
});
