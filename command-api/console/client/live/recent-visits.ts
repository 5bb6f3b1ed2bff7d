import { useCallback, useEffect, useState } from 'preact/hooks';
import { isVisit, type LiveEvent } from '../../live-events.js';

/** How long a visit is recent (ms). */
const recentMs = 300_000;
/** How often visits that are no longer recent are removed (ms). */
const expireMs = 10_000;
const maxVisits = 10_000;

type Receive = (events: readonly LiveEvent[]) => void;

const receivers = new Set<Receive>();

/** Passes the events of the page's stream to `useRecentVisits`. */
export const publishEvents: Receive = (events) => {
  for (const receive of receivers) receive(events);
};

/** Calls a function with the events that the stream of the page receives. @param inputs of the function */
export const useReceived = (receive: Receive, inputs: readonly unknown[]): void => {
  useEffect(() => {
    receivers.add(receive);
    return () => {
      receivers.delete(receive);
    };
  }, inputs);
};

/** The number of recent visits, without bots, that the stream of the page has received. */
export const useRecentVisits = (): number => {
  /** Times (ms since 1970) by id, because an event may be received more than once. */
  const [visits, setVisits] = useState<ReadonlyMap<string, number>>(new Map());
  const receive = useCallback<Receive>((events) => {
    const added = events
      .filter((event) => isVisit(event) && event.data['bot'] !== true)
      .map(({ id, time }) => [id, Date.parse(time)] as const);
    const end = Date.now() - recentMs;
    setVisits((known) => {
      const recent = [...known, ...added].filter(([, at]) => at > end);
      return new Map(recent.slice(-maxVisits));
    });
  }, []);
  useReceived(receive, []);
  useEffect(() => {
    const timer = setInterval(() => receive([]), expireMs);
    return () => clearInterval(timer);
  }, []);
  return visits.size;
};
