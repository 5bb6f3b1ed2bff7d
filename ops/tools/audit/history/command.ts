import {
  isVisit,
  isCreation,
  type CreationEvent,
  type EventNamed,
  type LinkEvent,
} from '../../../../schemas/events/catalogue.js';
import { publicDataOf, withoutSecrets } from '../../../../schemas/events/redact.js';
import { linkOfSubject } from '../../../../schemas/link-subject.js';
import type { Config } from '../../../config/config.js';
import { linkArgument, linkDescription } from '../../cli/arguments.js';
import type { AddCommands } from '../../cli/command.js';
import { writeFromDatabase, subjectNamed } from '../../cli/database.js';
import { CliError } from '../../cli/errors.js';
import {
  appendToStdout,
  count,
  counted,
  formatFields,
  table,
  type Output,
} from '../../cli/output.js';
import { replay, reportUnreadable, type ReplayOptions } from '../replay/replay.js';

type TimelineEvent = LinkEvent | EventNamed<'LinkVisited'>;

/** Counts visits by UTC day, and bots separately, as a link's statistics do. */
export const tallyVisits = () => {
  const days = new Map<string, { clicks: number; bots: number }>();
  let first: string | null = null;
  let last: string | null = null;
  return {
    add({ time, data }: EventNamed<'LinkVisited'>): void {
      // A spool may ship late, so visits are not ordered by time.
      if (first === null || time < first) first = time;
      if (last === null || time > last) last = time;
      const day = time.slice(0, 'yyyy-mm-dd'.length);
      const counts = days.get(day) ?? { clicks: 0, bots: 0 };
      if (data.bot) counts.bots += 1;
      else counts.clicks += 1;
      days.set(day, counts);
    },
    summary() {
      const inOrder = [...days]
        .map(([day, counts]) => ({ day, ...counts }))
        .sort((a, b) => (a.day < b.day ? -1 : 1));
      return {
        clicks: inOrder.reduce((sum, { clicks }) => sum + clicks, 0),
        bots: inOrder.reduce((sum, { bots }) => sum + bots, 0),
        first,
        last,
        days: inOrder,
      };
    },
  };
};

type VisitSummary = ReturnType<ReturnType<typeof tallyVisits>['summary']>;

/** Reads the events of a link by time, from one partition of links and one of visits. */
export async function* readLinkEvents(
  subject: string,
  options: Pick<ReplayOptions, 'log' | 'onUnreadable' | 'progress' | 'signal'>,
): AsyncGenerator<readonly TimelineEvent[]> {
  for await (const chunk of replay({ ...options, filter: { subject } })) {
    // A filter by subject reads the topics of links and visits only.
    yield chunk.map(({ event }) => event as TimelineEvent);
  }
}

interface Timeline {
  readonly head: string;
  readonly event: (event: TimelineEvent) => string;
  readonly end: (visits: VisitSummary) => string;
}

const created = ({ data, account }: CreationEvent): string => {
  const { url, custom, startsAt, expiresAt, maxClicks, passwordHash, rules } = data;
  const limits = [
    custom ? 'an alias' : 'a generated code',
    ...(startsAt === undefined ? [] : [`from ${startsAt}`]),
    ...(expiresAt === null ? [] : [`until ${expiresAt}`]),
    ...(maxClicks === null ? [] : [`at most ${count(maxClicks)} clicks`]),
    ...(passwordHash === null ? [] : ['with a password']),
    ...(rules === undefined ? [] : [`with ${counted(rules.length, 'redirect rule')}`]),
    ...(account === undefined ? [] : [`of account ${account}`]),
    ...('importId' in data
      ? [`from ${data.source}, created at ${data.createdAt}, with ${counted(data.clicks, 'click')}`]
      : []),
  ];
  return `${url} (${limits.join(', ')})`;
};

const textOf = (value: unknown): string =>
  value === null ? 'none' : typeof value === 'string' ? value : JSON.stringify(value);

const detailsOf = (event: TimelineEvent): string => {
  if (isCreation(event)) return created(event);
  if (event.type === 'linklog.LinkExpired.v1') {
    return event.data.reason === 'time' ? 'end of its period' : 'click limit';
  }
  if (isVisit(event)) {
    const { click, bot, target } = event.data;
    const words = [
      ...(click === null ? [] : [`click ${count(click)}`]),
      ...(bot ? ['a bot'] : []),
      ...(target === null ? [] : [`target ${target}`]),
    ];
    return words.join(', ');
  }
  if (event.type === 'linklog.LinkEdited.v3' || event.type === 'linklog.LinkDescribed.v1') {
    return Object.entries(publicDataOf(event))
      .map(([name, value]) => `${name}: ${textOf(value)}`)
      .join(', ');
  }
  return Object.values(publicDataOf(event)).map(textOf).join(', ');
};

// Fixed widths, because lines are written before all rows are known.
const widths = [24, 9, 36, 36];

const lineOf = (cells: readonly string[]): string =>
  `${cells
    .map((cell, index) => cell.padEnd(widths[index] ?? 0))
    .join('  ')
    .trimEnd()}\n`;

const formatVisits = ({ clicks, bots, first, last, days }: VisitSummary): string => {
  const totals = formatFields([
    ['clicks', count(clicks)],
    ['bots', count(bots)],
    ['first', first ?? '-'],
    ['last', last ?? '-'],
  ]);
  if (days.length === 0) return `\n${totals}\n`;
  const rows = days.map((day) => [day.day, count(day.clicks), count(day.bots)]);
  return `\n${totals}\n\n${table(['DAY (UTC)', 'CLICKS', 'BOTS'], rows)}\n`;
};

const textTimeline: Timeline = {
  head: lineOf(['TIME', 'WHAT', 'WHO', 'REQUEST', 'DETAILS']),
  event(event) {
    const { type, time, actor = '-', correlationid = '-' } = event;
    // `linklog.LinkBlocked.v1`: blocked.
    const what = type.replace(/^linklog\.Link|\.v\d+$/g, '').toLowerCase();
    return lineOf([time, what, actor, correlationid, detailsOf(event)]);
  },
  end: formatVisits,
};

/** One JSON object with CloudEvents without secrets, written incrementally. */
const jsonTimeline = (subject: string): Timeline => {
  const { domain, code } = linkOfSubject(subject);
  let separator = '';
  return {
    head: `${JSON.stringify({ shortCode: code, domain }).slice(0, -1)},"events":[`,
    event(event) {
      const text = `${separator}${JSON.stringify(withoutSecrets(event))}`;
      separator = ',';
      return text;
    },
    end: (visits) => `],"visits":${JSON.stringify(visits)}}\n`,
  };
};

interface Options {
  readonly visits?: true | undefined;
  readonly isJson: boolean;
}

const history = async (config: Config, link: string, options: Options): Promise<Output> => {
  const unreadable = reportUnreadable();
  const reporting = { title: null, work: 'the history' };
  await writeFromDatabase(config, reporting, async ({ pool, log, signal }) => {
    const subject = await subjectNamed(pool, config, link);
    const timeline = options.isJson ? jsonTimeline(subject) : textTimeline;
    const append = appendToStdout(signal);
    const visits = tallyVisits();
    let isFound = false;
    try {
      const chunks = readLinkEvents(subject, { log, onUnreadable: unreadable.report, signal });
      for await (const events of chunks) {
        if (!isFound) await append(timeline.head);
        isFound = true;
        let text = '';
        for (const event of events) {
          if (isVisit(event)) visits.add(event);
          if (!isVisit(event) || options.visits) text += timeline.event(event);
        }
        await append(text);
      }
      if (isFound) await append(timeline.end(visits.summary()));
    } catch (error) {
      // An aborted wait rejects with another error than the signal's reason.
      signal.throwIfAborted();
      throw error;
    }
    if (!isFound && unreadable.count() === 0) {
      throw new CliError('REFUSED', `the log contains no link ${JSON.stringify(subject)}`);
    }
  });
  return unreadable.outcome();
};

export const addHistoryCommand: AddCommands = (group, context) => {
  group
    .command('history')
    .description('show the changes and visits of a link from the log')
    .argument('<code>', linkDescription, linkArgument)
    .option('--visits', 'list each visit in addition to the counts by day')
    .notes(
      `
Times are UTC. Clicks are redirected visits; bots are counted separately. With --json: one object,
{shortCode, domain, events: [CloudEvent…], visits: {clicks, bots, first, last, days: [{day, clicks, bots}…]}}.

Examples:
  $ linklog audit history spring-sale
  $ linklog audit history spring-sale --visits
  $ linklog audit history go.example.com/spring-sale
  $ linklog audit history spring-sale --json | jq '.visits.days'`,
    )
    .action(async (link: string, { visits }: Pick<Options, 'visits'>) => {
      const options = { visits, isJson: context.isJson() };
      context.print(await history(context.readConfig(), link, options));
    });
};
