import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { formatClock, linkEventNames } from '../../format.js';
import { linkPage, withQuery } from '../../link-address.js';
import { describeEvent, isVisit, linkOf, type LiveEvent, newestOf } from '../../live-events.js';
import { texts } from '../../texts.js';
import type { Failure } from '../app/api.js';
import { useScope } from '../app/owner.js';
import { Alert } from '../components/trouble.js';
import { followEvents, type Position } from './follow-events.js';
import { publishEvents } from './recent-visits.js';

const text = texts.live;

type LiveState = 'connecting' | 'live' | 'reconnecting' | 'paused' | Failure;

/** All numbers of a page change together, at most once in this time (ms). */
const batchMs = 1_000;

/**
 * The newest events of a stream, while the page is visible: browsers open at most 6 connections to a host by HTTP/1.1,
 * for all tabs together.
 */
const useLiveEvents = (path: string, isPaused: boolean) => {
  const [state, setState] = useState<LiveState>('connecting');
  const [events, setEvents] = useState<readonly LiveEvent[]>([]);
  /** The number of received events. */
  const [count, setCount] = useState(0);
  const [attempt, setAttempt] = useState(0);
  const position = useRef<Position>({ lastEventId: '', at: 0 });
  useEffect(() => {
    let connection = new AbortController();
    let batch: readonly LiveEvent[] = [];
    const showBatch = (): void => {
      const received = batch;
      batch = [];
      if (received.length === 0) return;
      setEvents((shown) => newestOf(shown, received));
      setCount((before) => before + received.length);
      publishEvents(received);
    };
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
          if (batch.length === 0) setTimeout(showBatch, batchMs);
          batch = [...batch, ...received];
        },
      });
    };
    connect();
    document.addEventListener('visibilitychange', connect);
    return () => {
      document.removeEventListener('visibilitychange', connect);
      connection.abort();
      showBatch();
    };
  }, [path, isPaused, attempt]);
  const retry = useCallback(() => setAttempt((last) => last + 1), []);
  return { state, events, count, retry };
};

/** The shortest time between two announcements to screen readers (ms). */
const announceMs = 15_000;

/** Follows a number with a delay. */
const useDelayed = (value: number, ms: number): number => {
  const [shown, show] = useState(value);
  const latest = useRef(value);
  latest.current = value;
  useEffect(() => {
    if (value === shown) return undefined;
    const timer = setTimeout(() => show(latest.current), ms);
    return () => clearTimeout(timer);
    // Not at every change of the value: that would start the delay again.
  }, [value === shown]);
  return shown;
};

const Row = ({ event }: { readonly event: LiveEvent }) => (
  <li>
    <time class="soft" dateTime={event.time}>
      {formatClock(event.time)}
    </time>{' '}
    <a href={linkPage(linkOf(event))}>{event.subject}</a>{' '}
    {isVisit(event) ? (
      <bdi>{describeEvent(event)}</bdi>
    ) : (
      <span class="badge">{describeEvent(event)}</span>
    )}
  </li>
);

interface Props {
  /** The link whose events are shown; absent: all links. */
  readonly shortCode?: string;
  /** Absent, `null` or empty: all domains, or the default domain of the link. */
  readonly domain?: string | null | undefined;
}

const Stream = ({ path }: { readonly path: string }) => {
  const [isPaused, setPaused] = useState(false);
  const { state, events, count, retry } = useLiveEvents(path, isPaused);
  const announced = useDelayed(count, announceMs);
  const hasFailed = typeof state !== 'string';
  return (
    <section class="card stack" aria-labelledby="live">
      <div class="row spread">
        <div class="row">
          <h2 id="live">{text.live}</h2>
          <span role="status" class={`badge ${hasFailed ? 'failed' : state}`}>
            {text.states[hasFailed ? 'ended' : state]}
          </span>
        </div>
        <button
          type="button"
          class="small"
          onClick={() => {
            if (hasFailed) retry();
            else setPaused(!isPaused);
          }}
        >
          {hasFailed ? texts.components.tryAgain : isPaused ? text.continue : text.pause}
        </button>
      </div>
      {hasFailed && state.kind !== 'offline' && <Alert>{state.message}</Alert>}
      <p class="unseen" role="status">
        {announced > 0 && text.newEvents(announced)}
      </p>
      {events.length === 0 ? (
        <p class="soft">{text.empty}</p>
      ) : (
        <ol class="plain live">
          {events.map((event) => (
            <Row key={event.id} event={event} />
          ))}
        </ol>
      )}
    </section>
  );
};

/** Visits and changes of links when they happen, for keys that may read events. */
export const LiveEvents = ({ shortCode, domain = '' }: Props) => {
  if (!useScope('events:read')) return null;
  const path = withQuery('/v2/events', {
    types: linkEventNames.join(),
    shortCode: shortCode ?? '',
    domain: domain ?? '',
  });
  // A new key resets the list.
  return <Stream key={path} path={path} />;
};
