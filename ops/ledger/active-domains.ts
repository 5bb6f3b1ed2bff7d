import { coalesce } from '../platform/concurrency/deferred.js';
import { retryUntilAborted } from '../platform/concurrency/retry.js';
import { createOutageLog, type Logger } from '../platform/logging.js';
import type { NotificationListener } from '../platform/postgres/listener.js';
import type { Queryable } from '../platform/postgres/pool.js';
import { parseChange } from './changes.js';
import { readKnownDomains, type ActiveDomain, type KnownDomain } from './domains.js';

/** The pauses between attempts to read the domains. */
const pauses = { firstMs: 500, longestMs: 500 };

export type ActiveDomains = Pick<
  Awaited<ReturnType<typeof watchActiveDomains>>,
  'find' | 'ignoresCase' | 'readAgain'
>;

/** Which of these domains are active for an account. Others are read again: they may have become active just now. */
export const findActiveDomains = async (
  { activeDomains }: { readonly activeDomains: Pick<ActiveDomains, 'find' | 'readAgain'> },
  account: string,
  names: readonly string[],
): Promise<ReadonlySet<string>> => {
  const isOfAccount = (name: string): boolean => activeDomains.find(name)?.account === account;
  const others = names.filter((name) => !isOfAccount(name));
  if (others.length > 0) await activeDomains.readAgain(others);
  return new Set(names.filter(isOfAccount));
};

/**
 * Keeps the active domains in memory (100,000 take 19 MB), so that an unresponsive PostgreSQL does not affect them. A
 * notification of a change is a hint to read its domain again; after a lost connection, all are read again.
 */
export const watchActiveDomains = async (deps: {
  readonly listener: Pick<NotificationListener, 'on' | 'onGap'>;
  readonly pool: Queryable;
  /** Whether letters of either case are the same in the codes of the default domain. */
  readonly anyCase: boolean;
  readonly logger: Logger;
}) => {
  const { listener, pool, logger } = deps;
  let known = new Map<string, KnownDomain>();
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
      const rows = await readKnownDomains(pool, names);
      if (names === null) known = new Map();
      else for (const name of names) known.delete(name);
      for (const row of rows) known.set(row.domain, row);
    } catch (error) {
      if (names === null) isIncomplete = true;
      else for (const name of names) changed.add(name);
      throw error;
    }
  };
  const retrying = { pauses, signal: stopping.signal, onFailure: outage.failed };
  const readUntilKnown = coalesce(() => retryUntilAborted(readStale, retrying));
  const readAgain = (names: readonly string[]): Promise<void> => {
    for (const name of names) changed.add(name);
    return readUntilKnown();
  };
  const readAll = (): void => {
    isIncomplete = true;
    void readUntilKnown();
  };

  const stops = [
    listener.on('linklog_changes', (payload) => {
      const change = parseChange(payload);
      if (change?.kind === 'domain') {
        void readAgain([change.domain]);
      } else if (change === null) readAll();
    }),
    listener.onGap((state) => {
      if (state === 'back') readAll();
    }),
  ];
  await readUntilKnown();

  return {
    /** @param name in canonical form: see `domainNameOf` */
    find(name: string): ActiveDomain | undefined {
      const domain = known.get(name);
      return domain && domain.account !== null ? domain : undefined;
    },
    ignoresCase: (name: string | null): boolean =>
      name === null ? deps.anyCase : (known.get(name)?.caseInsensitive ?? false),
    readAgain,
    stop() {
      stopping.abort();
      for (const stop of stops) stop();
    },
  };
};
