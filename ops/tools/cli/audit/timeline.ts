import type { LifeEvent, VisitSummary } from '../../audit/history.js';
import { withoutSecrets } from '../../../../schemas/events/redact.js';
import { count, facts, table } from '../output.js';

/** How a link's life is written: what comes first, a line for each event, and its visits at the end. */
export interface Timeline {
  readonly head: string;
  readonly event: (event: LifeEvent) => string;
  readonly end: (visits: VisitSummary) => string;
}

const created = ({ data, account }: LifeEvent & { type: 'linklog.LinkCreated.v1' }): string => {
  const { url, custom, expiresAt, maxClicks, passwordHash } = data;
  const limits = [
    custom ? 'an alias' : 'a generated code',
    ...(expiresAt === null ? [] : [`until ${expiresAt}`]),
    ...(maxClicks === null ? [] : [`at most ${count(maxClicks)} clicks`]),
    ...(passwordHash === null ? [] : ['with a password']),
    ...(account === undefined ? [] : [`of account ${account}`]),
  ];
  return `${url} (${limits.join(', ')})`;
};

/** The event in a word, and what else there is to say. */
const tell = (event: LifeEvent): readonly [string, string] => {
  switch (event.type) {
    case 'linklog.LinkCreated.v1':
      return ['created', created(event)];
    case 'linklog.LinkExpired.v1':
      return ['expired', event.data.reason === 'time' ? 'its time was over' : 'its last click'];
    case 'linklog.LinkBlocked.v1':
      return ['blocked', event.data.reason];
    case 'linklog.LinkUnblocked.v1':
      return ['unblocked', event.data.reason];
    case 'linklog.LinkVisited.v1': {
      const { click, bot } = event.data;
      const words = [
        ...(click === null ? [] : [`click ${count(click)}`]),
        ...(bot ? ['a bot'] : []),
      ];
      return ['visited', words.join(', ')];
    }
  }
};

// Lines go out as they come, so columns cannot be measured: times, words and ids have these widths.
const widths = [24, 9, 36, 36];

const lineOf = (cells: readonly string[]): string =>
  `${cells
    .map((cell, index) => cell.padEnd(widths[index] ?? 0))
    .join('  ')
    .trimEnd()}\n`;

const visitsInWords = ({ clicks, bots, first, last, days }: VisitSummary): string => {
  const totals = facts([
    ['clicks', count(clicks)],
    ['of bots', count(bots)],
    ['first', first ?? '-'],
    ['last', last ?? '-'],
  ]);
  if (days.length === 0) return `\n${totals}\n`;
  const rows = days.map((day) => [day.day, count(day.clicks), count(day.bots)]);
  return `\n${totals}\n\n${table(['DAY (UTC)', 'CLICKS', 'OF BOTS'], rows)}\n`;
};

/** For a person. */
export const inWords: Timeline = {
  head: lineOf(['TIME', 'WHAT', 'WHO', 'REQUEST', 'DETAILS']),
  event(event) {
    const [what, details] = tell(event);
    const { time, actor = '-', correlationid = '-' } = event;
    return lineOf([time, what, actor, correlationid, details]);
  },
  end: visitsInWords,
};

/** For a program: one JSON object, of CloudEvents without secrets, written as they come. */
export const inJson = (code: string): Timeline => {
  let separator = '';
  return {
    head: `{"shortCode":${JSON.stringify(code)},"events":[`,
    event(event) {
      const text = `${separator}${JSON.stringify(withoutSecrets(event))}`;
      separator = ',';
      return text;
    },
    end: (visits) => `],"visits":${JSON.stringify(visits)}}\n`,
  };
};
