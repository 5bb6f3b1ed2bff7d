import type { EventNamed, LinkEvent } from '../../../../schemas/events/catalogue.js';
import { replay, type ReplayOptions } from '../replay/replay.js';

export type TimelineEvent = LinkEvent | EventNamed<'LinkVisited'>;

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

export type VisitSummary = ReturnType<ReturnType<typeof tallyVisits>['summary']>;

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
