import type { EventNamed, LinkEvent } from '../../../../schemas/events/catalogue.js';
import { replay, type ReplayOptions } from '../replay/replay.js';

/** What a link's life is made of. */
export type LifeEvent = LinkEvent | EventNamed<'LinkVisited'>;

/**
 * Counts visits as a link's statistics do, those of bots apart, and by their day in UTC. Memory holds
 * two numbers for each day.
 */
export const tallyVisits = () => {
  const days = new Map<string, { clicks: number; bots: number }>();
  let first: string | null = null;
  let last: string | null = null;
  return {
    add({ time, data }: EventNamed<'LinkVisited'>): void {
      // A spool that was cut off ships late: what comes last need not be the last.
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

/** All that the log has of a link, from one partition of links and one of visits, by time. */
export async function* lifeOf(
  code: string,
  options: Pick<ReplayOptions, 'log' | 'onUnreadable' | 'progress' | 'signal'>,
): AsyncGenerator<readonly LifeEvent[]> {
  for await (const piece of replay({ ...options, filter: { code } })) {
    // A filter by code lets nothing else pass: in these two topics nothing else stands.
    yield piece.map(({ event }) => event as LifeEvent);
  }
}
