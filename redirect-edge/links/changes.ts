import { parseChange } from '../../ops/ledger/changes.js';
import { readPlatform } from '../../ops/ledger/platform.js';
import { coalesce } from '../../ops/platform/concurrency/coalesce.js';
import { retry } from '../../ops/platform/concurrency/retry.js';
import type { Logger } from '../../ops/platform/logging.js';
import type { NotificationListener } from '../../ops/platform/postgres/listener.js';
import type { Queryable } from '../../ops/platform/postgres/pool.js';
import type { LinkReader } from './link-reader.js';

/** Between tries to read the switches, in milliseconds. */
const pauses = { firstMs: 500, longestMs: 500 };

export type ChangeWatch = Awaited<ReturnType<typeof watchChanges>>;

/**
 * Listens for changes to what this edge has in memory: links that were blocked or unblocked, and the
 * platform's switches. After a lost connection both are read again.
 */
export const watchChanges = async (deps: {
  readonly listener: NotificationListener;
  readonly pool: Queryable;
  readonly links: Pick<LinkReader, 'changed' | 'doubtAll'>;
  readonly logger: Logger;
}) => {
  const { listener, pool, links, logger } = deps;
  let maintenance = false;
  const stopping = new AbortController();

  const readSwitches = coalesce(async () => {
    ({ maintenance } = await readPlatform(pool));
  });
  const warn = (err: unknown): void => {
    logger.warn({ err }, 'the platform switches cannot be read; trying again');
  };
  const readUntilKnown = coalesce(() =>
    // It rejects at the stop only.
    retry(readSwitches, { pauses, signal: stopping.signal, onFailure: warn }).catch(
      () => undefined,
    ),
  );

  const stops = [
    listener.on('linklog_changes', (payload) => {
      const change = parseChange(payload);
      if (change?.kind === 'link') {
        links.changed(change.code, change.sequence);
        return;
      }
      // A change that only a later version knows, or a forged one: read everything again.
      if (change === null) {
        logger.debug('a notification of a change cannot be parsed; links are read again');
        links.doubtAll(true);
      }
      void readUntilKnown();
    }),
    listener.onGap((state) => {
      links.doubtAll(state === 'back');
      if (state === 'back') void readUntilKnown();
    }),
  ];
  // The listener may not be connected yet.
  links.doubtAll(listener.listening);
  await readSwitches().catch((error: unknown) => {
    warn(error);
    void readUntilKnown();
  });

  return {
    /** Whether the platform is in maintenance, by the last switches that were read. */
    get maintenance() {
      return maintenance;
    },
    stop() {
      stopping.abort();
      for (const stop of stops) stop();
    },
  };
};
