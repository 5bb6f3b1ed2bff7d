import { parseChange } from '../ops/ledger/changes.js';
import { readPlatform } from '../ops/ledger/platform.js';
import type { Logger } from '../ops/platform/logging.js';
import type { NotificationListener } from '../ops/platform/postgres/listener.js';
import type { Queryable } from '../ops/platform/postgres/pool.js';
import type { LinkReader } from './links/link-reader.js';

/** How long until the switches are asked for once more after that failed. */
const retryMs = 500;

export interface ChangeWatch {
  /** Whether the platform is in maintenance, as far as is known. */
  readonly maintenance: boolean;
  stop(): void;
}

/**
 * Hears of changes to what this edge has in memory: links that were blocked or unblocked, and the
 * platform's switches. What was changed while the connection was lost is found by asking again.
 */
export const watchChanges = async (deps: {
  readonly listener: NotificationListener;
  readonly pool: Queryable;
  readonly links: Pick<LinkReader, 'changed' | 'doubtAll'>;
  readonly logger: Logger;
}): Promise<ChangeWatch> => {
  const { listener, pool, links, logger } = deps;
  let maintenance = false;
  /** Of the switches that are known: answers may come in another order than they were asked for. */
  let sequence = -1;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  const readSwitches = async (): Promise<void> => {
    clearTimeout(timer);
    try {
      const state = await readPlatform(pool);
      if (state.sequence >= sequence) ({ maintenance, sequence } = state);
    } catch (err) {
      logger.warn({ err }, 'the platform switches cannot be read; trying again');
      clearTimeout(timer);
      if (!stopped) timer = setTimeout(() => void readSwitches(), retryMs);
    }
  };

  const stops = [
    listener.on('linklog_changes', (payload) => {
      const change = parseChange(payload);
      if (change?.kind === 'link') {
        links.changed(change.code, change.sequence);
        return;
      }
      // Whatever it is that a later version tells of, what is read again is right.
      if (change === null) links.doubtAll(true);
      void readSwitches();
    }),
    listener.onGap((state) => {
      links.doubtAll(state === 'back');
      if (state === 'back') void readSwitches();
    }),
  ];
  // The first connection may not stand yet.
  links.doubtAll(listener.listening);
  await readSwitches();

  return {
    get maintenance() {
      return maintenance;
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
      for (const stop of stops) stop();
    },
  };
};
