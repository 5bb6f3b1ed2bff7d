import { coalesce } from '../platform/concurrency/deferred.js';
import { retry } from '../platform/concurrency/retry.js';
import { createOutageLog, type Logger } from '../platform/logging.js';
import type { NotificationListener } from '../platform/postgres/listener.js';
import type { Queryable } from '../platform/postgres/pool.js';
import { parseChange } from './changes.js';
import type { IgnoresCase } from '../../schemas/link-subject.js';
import { isActive, readKnownDomains, type ActiveDomain, type KnownDomain } from './domains.js';

/** The pauses between attempts to read the domains. */
const pauses = { firstMs: 500, longestMs: 500 };

export type ActiveDomains = Pick<
  Awaited<ReturnType<typeof watchActiveDomains>>,
  'find' | 'ignoresCase'
>;

/** The active domains of an account among names. */
export interface FoundDomains {
  readonly has: (name: string) => boolean;
  readonly ignoresCase: IgnoresCase;
}

/** Which of these domains are active for an account. A domain may be active for less time than it takes to be in memory. */
export const findActiveDomains = async (
  deps: { readonly pool: Queryable; readonly activeDomains: ActiveDomains },
  account: string,
  names: readonly string[],
): Promise<FoundDomains> => {
  const { pool, activeDomains } = deps;
  const ofAccount = (domains: readonly KnownDomain[]) =>
    domains.filter((domain) => domain.account === account);
  const known = ofAccount(names.flatMap((name) => activeDomains.find(name) ?? []));
  const active = new Map(known.map((domain) => [domain.domain, domain]));
  const unknown = names.filter((name) => !active.has(name));
  const read = unknown.length === 0 ? [] : await readKnownDomains(pool, unknown);
  for (const domain of ofAccount(read)) active.set(domain.domain, domain);
  return {
    has: (name) => active.has(name),
    ignoresCase: (name) =>
      name === null
        ? activeDomains.ignoresCase(null)
        : (active.get(name)?.caseInsensitive ?? false),
  };
};

/**
 * Keeps the active domains in memory (100,000 take 19 MB), so that an unresponsive PostgreSQL does not affect them. A
 * notification of a change is a hint to read its domain again; after a lost connection, all are read again.
 */
export const watchActiveDomains = async (deps: {
  readonly listener: Pick<NotificationListener, 'on' | 'onGap'>;
  readonly pool: Queryable;
  /** Whether letters of either case are the same in the codes of the default domain. */
  readonly defaultIgnoresCase: boolean;
  readonly logger: Logger;
}) => {
  const { listener, pool, defaultIgnoresCase, logger } = deps;
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
    find(name: string): ActiveDomain | undefined {
      const domain = known.get(name);
      return domain && isActive(domain) ? domain : undefined;
    },
    ignoresCase: (name: string | null): boolean =>
      name === null ? defaultIgnoresCase : (known.get(name)?.caseInsensitive ?? false),
    stop() {
      stopping.abort();
      for (const stop of stops) stop();
    },
  };
};
