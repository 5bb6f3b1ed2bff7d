import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { newestOf, type LiveEvent } from '../../live-events.js';
import type { Failure } from '../app/api.js';
import { followEvents, type Position } from './follow-events.js';
import { publishEvents } from './recent-visits.js';

type LiveState = 'connecting' | 'live' | 'reconnecting' | 'paused' | Failure;

/**
 * The newest events of a stream, while the page is visible: browsers open at most 6 connections to a host by HTTP/1.1,
 * for all tabs together.
 */
export const useLiveEvents = (path: string, isPaused: boolean) => {
  const [state, setState] = useState<LiveState>('connecting');
  const [events, setEvents] = useState<readonly LiveEvent[]>([]);
  /** The number of received events. */
  const [count, setCount] = useState(0);
  const [attempt, setAttempt] = useState(0);
  const position = useRef<Position>({ lastEventId: '', at: 0 });
  useEffect(() => {
    let connection = new AbortController();
    const connect = (): void => {
      connection.abort();
      if (isPaused || document.visibilityState === 'hidden') {
        setState('paused');
        return;
      }
      connection = new AbortController();
      const { signal } = connection;
      setState('connecting');
      // It never rejects: failures are states.
      void followEvents(path, position.current, signal, {
        onState(next) {
          if (!signal.aborted) setState(next);
        },
        onEvents(received) {
          setEvents((shown) => newestOf(shown, received));
          setCount((before) => before + received.length);
          publishEvents(received);
        },
      });
    };
    connect();
    document.addEventListener('visibilitychange', connect);
    return () => {
      document.removeEventListener('visibilitychange', connect);
      connection.abort();
    };
  }, [path, isPaused, attempt]);
  const retry = useCallback(() => {
    setAttempt((last) => last + 1);
  }, []);
  return { state, events, count, retry };
};
