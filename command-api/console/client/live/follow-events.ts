import { messagesOf } from '../../../../ops/clients/typescript/src/lines.js';
import { pauseAfter, type LiveEvent } from '../../live-events.js';
import { openStream, type Failure } from '../app/api.js';

/** The pause before a reconnection, as the stream's `retry` requests it (ms). */
const retryAfterMs = 2_000;
/** After a longer interruption, the stream continues with new events (ms), because many may be waiting. */
const maxMissedMs = 60_000;

/** Where the next connection continues. */
export interface Position {
  /** Empty: with new events. */
  lastEventId: string;
  /** The time of the last message (ms since 1970). */
  at: number;
}

interface Listener {
  /** A failure ends the stream. */
  readonly onState: (state: 'live' | 'reconnecting' | Failure) => void;
  readonly onEvents: (events: readonly LiveEvent[]) => void;
}

/** Resolves after some time, or when the signal is aborted. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    const end = (): void => {
      clearTimeout(timer);
      resolve();
    };
    if (signal.aborted) end();
    else signal.addEventListener('abort', end);
  });

/** Reads a stream until it ends. */
const readStream = async (
  bytes: AsyncIterable<Uint8Array>,
  onMessage: (lastEventId: string, events: readonly LiveEvent[]) => void,
): Promise<void> => {
  try {
    for await (const { id, event, data } of messagesOf(bytes)) {
      onMessage(id, event === 'message' ? [JSON.parse(data) as LiveEvent] : []);
    }
  } catch {
    // The connection was lost, or the stream was aborted.
  }
};

/** Whether another attempt can succeed without the user. */
const isTemporary = (failure: Failure): boolean =>
  failure.kind === 'offline' || (failure.kind !== 'plan' && failure.status >= 500);

/** Follows a stream of events, with reconnections, until the signal is aborted. */
export const followEvents = async (
  path: string,
  position: Position,
  signal: AbortSignal,
  { onState, onEvents }: Listener,
): Promise<void> => {
  let failures = 0;
  while (!signal.aborted) {
    let retryMs = retryAfterMs;
    if (Date.now() - position.at > maxMissedMs) position.lastEventId = '';
    const { lastEventId } = position;
    const headers = {
      Accept: 'text/event-stream',
      ...(lastEventId !== '' && { 'Last-Event-ID': lastEventId }),
    };
    const opened = await openStream(path, { headers, signal });
    if (opened.ok) {
      onState('live');
      await readStream(opened.value, (lastEventId, events) => {
        failures = 0;
        Object.assign(position, { lastEventId, at: Date.now() });
        onEvents(events);
      });
    } else {
      const { failure } = opened;
      // After a restore, the cursor is of another log.
      if (failure.kind === 'refused' && failure.status === 409) position.lastEventId = '';
      else if (!isTemporary(failure)) {
        onState(failure);
        return;
      }
      if (failure.kind === 'wait') retryMs = Math.max(retryMs, failure.seconds * 1_000);
    }
    onState('reconnecting');
    await pause(pauseAfter(failures, retryMs), signal);
    failures += 1;
  }
};
