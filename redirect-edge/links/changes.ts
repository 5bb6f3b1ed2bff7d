import { parseChange } from '../../ops/ledger/changes.js';
import { readPlatform } from '../../ops/ledger/platform.js';
import { coalesce } from '../../ops/platform/concurrency/deferred.js';
import { retryUntilAborted } from '../../ops/platform/concurrency/retry.js';
import { createOutageLog, type Logger } from '../../ops/platform/logging.js';
import type { NotificationListener } from '../../ops/platform/postgres/listener.js';
import type { Queryable } from '../../ops/platform/postgres/pool.js';
import type { LinkReader } from './link-reader.js';

/** The pause between attempts to read the switches. */
const pauses = { firstMs: 500, longestMs: 500 };

/**
 * Listens for notifications of changed links and platform switches. After a lost connection, all links in memory are
 * marked as stale, and the switches are read again.
 */
export const watchChanges = async (deps: {
  readonly listener: NotificationListener;
  readonly pool: Queryable;
  readonly links: Pick<LinkReader, 'changed' | 'markAllStale'>;
  readonly logger: Logger;
}) => {
  const { listener, pool, links, logger } = deps;
  let maintenance = false;
  const stopping = new AbortController();

  const readSwitches = coalesce(async () => {
    ({ maintenance } = await readPlatform(pool));
  });
  const outage = createOutageLog(logger, 'the platform switches cannot be read; trying again');
  const retrying = { pauses, signal: stopping.signal, onFailure: outage.failed };
  const readUntilKnown = coalesce(() => retryUntilAborted(readSwitches, retrying));

  const stops = [
    listener.on('linklog_changes', (payload) => {
      const change = parseChange(payload);
      if (change?.kind === 'link') {
        links.changed(change.subject, change.sequence);
        return;
      }
      // The process keeps the active domains: see ops/ledger/active-domains.ts.
      if (change?.kind === 'domain') return;
      // A notification of a later version, or a forged one: read everything again.
      if (change === null) {
        logger.debug('a notification of a change cannot be parsed; links are read again');
        links.markAllStale(true);
      }
      void readUntilKnown();
    }),
    listener.onGap((state) => {
      links.markAllStale(state === 'back');
      if (state === 'back') void readUntilKnown();
    }),
  ];
  // The listener may not be connected yet.
  links.markAllStale(listener.listening);
  await readSwitches().catch((error: unknown) => {
    outage.failed(error);
    void readUntilKnown();
  });

  return {
    /** Whether the platform is in maintenance, as of the last read. */
    get maintenance() {
      return maintenance;
    },
    stop() {
      stopping.abort();
      for (const stop of stops) stop();
    },
  };
};
