import { coalesce } from '../platform/concurrency/deferred.js';
import { retry } from '../platform/concurrency/retry.js';
import { createOutageLog, type Logger } from '../platform/logging.js';
import type { NotificationListener } from '../platform/postgres/listener.js';
import type { Queryable } from '../platform/postgres/pool.js';
import { parseChange } from './changes.js';
import { readActiveDomains, type ActiveDomain } from './domains.js';

/** The pauses between attempts to read the domains. */
const pauses = { firstMs: 500, longestMs: 500 };

export type ActiveDomains = Pick<Awaited<ReturnType<typeof watchActiveDomains>>, 'find'>;

/** Which of these domains are active for an account. A domain may be active for less time than it takes to be in memory. */
export const findActiveDomains = async (
  deps: { readonly pool: Queryable; readonly activeDomains: ActiveDomains },
  account: string,
  names: readonly string[],
): Promise<ReadonlySet<string>> => {
  const { pool, activeDomains } = deps;
  const active = new Set(names.filter((name) => activeDomains.find(name)?.account === account));
  const unknown = names.filter((name) => !active.has(name));
  const read = unknown.length === 0 ? [] : await readActiveDomains(pool, unknown);
  for (const { domain, account: owner } of read) if (owner === account) active.add(domain);
  return active;
};

/**
 * Keeps the active domains in memory (100,000 take 19 MB), so that an unresponsive PostgreSQL does not affect them. A
 * notification of a change is a hint to read its domain again; after a lost connection, all are read again.
 */
export const watchActiveDomains = async (deps: {
  readonly listener: Pick<NotificationListener, 'on' | 'onGap'>;
  readonly pool: Queryable;
  readonly logger: Logger;
}) => {
  const { listener, pool, logger } = deps;
  let active = new Map<string, ActiveDomain>();
  const stopping = new AbortController();
  const outage = createOutageLog(logger, 'the active domains cannot be read; trying again');
  /** The changed domains to read. */
  const changed = new Set<string>();
  /** Whether notifications may have been lost, so that all domains are read. */
  let isIncomplete = true;

  const readStale = async (): Promise<void> => {
    const names = isIncomplete ? null : [...changed];
    isIncomplete = false;
    changed.clear();
    try {
      const rows = await readActiveDomains(pool, names);
      if (names === null) active = new Map();
      else for (const name of names) active.delete(name);
      for (const row of rows) active.set(row.domain, row);
    } catch (error) {
      if (names === null) isIncomplete = true;
      else for (const name of names) changed.add(name);
      throw error;
    }
  };
  const readUntilKnown = coalesce(async () => {
    try {
      await retry(readStale, {
        pauses,
        signal: stopping.signal,
        onFailure: outage.failed,
      });
    } catch (error) {
      // `stop` ends the attempts.
      if (!stopping.signal.aborted) throw error;
    }
  });
  const readAll = (): void => {
    isIncomplete = true;
    void readUntilKnown();
  };

  const stops = [
    listener.on('linklog_changes', (payload) => {
      const change = parseChange(payload);
      if (change?.kind === 'domain') {
        changed.add(change.domain);
        void readUntilKnown();
      } else if (change === null) readAll();
    }),
    listener.onGap((state) => {
      if (state === 'back') readAll();
    }),
  ];
  await readUntilKnown();

  return {
    /** @param name in canonical form: see `domainNameOf` */
    find: (name: string): ActiveDomain | undefined => active.get(name),
    stop() {
      stopping.abort();
      for (const stop of stops) stop();
    },
  };
};
