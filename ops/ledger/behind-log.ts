/**
 * A ledger that is older than its log: PostgreSQL was restored from a snapshot, or a replica that lagged
 * was promoted, while Kafka went on. It would give out an alias or a click a second time.
 */
import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import { readEvent, UnreadableEvent } from '../../schemas/events/codec.js';
import { ledgerSource } from '../../schemas/events/envelope.js';
import { topicNames, topics, type TopicName } from '../../schemas/events/topics.js';
import { platformSubject } from '../../schemas/folds/platform.js';
import { deferred, never, type Deferred } from '../platform/concurrency/deferred.js';
import { retry } from '../platform/concurrency/retry.js';
import { ConfigError } from '../platform/process/config-error.js';
import type { EventLog, LogRecord, PartitionRange } from '../event-log/port.js';
import type { Logger } from '../platform/logging.js';
import type { NotificationListener } from '../platform/postgres/listener.js';
import type { Pool } from '../platform/postgres/pool.js';

/** Records at the end of a partition that are looked at. The relay sends as many in a round at most. */
const maxTail = 1_000;

export class LedgerBehindLog extends ConfigError {
  constructor({ type, subject, sequence }: LinklogEvent) {
    super(
      `PostgreSQL is older than the log in Kafka: it does not know ${type} of ${subject} (sequence ` +
        `${sequence}). Connect the PostgreSQL that wrote it; if that is lost, "linklog backup" and ` +
        '"linklog restore" into an empty installation',
    );
  }
}

/** By topic: the highest sequence that the ledger has of each of the subjects $1. */
const sequences: Record<TopicName, string> = {
  [topics.links.name]: `SELECT code AS subject, sequence FROM ledger.links
    WHERE code = ANY ($1::text[])`,
  [topics.visits.name]:
    `SELECT code AS subject, visit_sequence::bigint AS sequence FROM ledger.links
    WHERE code = ANY ($1::text[])`,
  [topics.accounts.name]: `SELECT id AS subject, sequence FROM ledger.api_keys
      WHERE id = ANY ($1::text[])
    UNION ALL
    SELECT alias, sequence FROM ledger.alias_overrides WHERE alias = ANY ($1::text[])`,
  [topics.platform.name]: `SELECT '${platformSubject}' AS subject, sequence FROM ledger.platform
    WHERE '${platformSubject}' = ANY ($1::text[])`,
  [topics.usage.name]: `SELECT key_id AS subject, usage_sequence AS sequence FROM ledger.key_meters
    WHERE key_id = ANY ($1::text[])`,
};

/** What the ledger decided of these records; what cannot be read is the projections' matter. */
export const decided = (records: readonly LogRecord[]): LinklogEvent[] =>
  records.flatMap(({ value }) => {
    try {
      const event = readEvent(value);
      return event.source === ledgerSource ? [event] : [];
    } catch (error) {
      if (error instanceof UnreadableEvent) return [];
      throw error;
    }
  });

interface LedgerAndLog {
  readonly pool: Pool;
  readonly log: Pick<EventLog, 'ranges' | 'read'>;
  /** An offset below which the ledger is known to have all of a partition. */
  readonly knownThrough: (topic: TopicName, partition: number) => Promise<number>;
}

/** The newest events of the ledger that a partition has and that may be unknown, by subject. */
const newestOf = async (
  { log, knownThrough }: LedgerAndLog,
  topic: TopicName,
  { partition, first, next }: PartitionRange,
): Promise<LinklogEvent[]> => {
  const from = Math.max(first, next - maxTail, await knownThrough(topic, partition));
  const newest = new Map<string, LinklogEvent>();
  for await (const { records } of log.read(topic, partition, from, next)) {
    for (const event of decided(records)) {
      // A relay that was taken over from may repeat older events behind newer ones.
      if (event.sequence > (newest.get(event.subject)?.sequence ?? 0)) {
        newest.set(event.subject, event);
      }
    }
  }
  return [...newest.values()];
};

/**
 * Looks at the end of each partition for an event that the ledger decided and does not know; `null`:
 * there is none, as it must be.
 */
export const findUnknownEvent = async (
  both: LedgerAndLog,
  among: readonly TopicName[] = topicNames,
): Promise<LinklogEvent | null> => {
  for (const topic of among) {
    const ranges = await both.log.ranges(topic);
    const found = await Promise.all(ranges.map((range) => newestOf(both, topic, range)));
    const events = found.flat();
    if (events.length === 0) continue;
    // After the log: the relay sends only what is committed.
    const { rows } = await both.pool.query<{ subject: string; sequence: number }>(
      sequences[topic],
      [events.map(({ subject }) => subject)],
    );
    const known = new Map(rows.map(({ subject, sequence }) => [subject, sequence]));
    const unknown = events.find(({ subject, sequence }) => sequence > (known.get(subject) ?? 0));
    if (unknown) return unknown;
  }
  return null;
};

const pauses = { firstMs: 200, longestMs: 2_000 };

/** Nearly all visits are no events of the ledger: the end of their topic always has to be read. */
const others = topicNames.filter((name) => name !== topics.visits.name);

/**
 * Looks whether the ledger is older than its log: now, and whenever the connection to PostgreSQL has
 * been lost and is back, since it may lead to another one.
 */
export const watchLedger = (
  deps: LedgerAndLog & { readonly listener: NotificationListener; readonly logger: Logger },
) => {
  const { listener, logger } = deps;
  const stopped = new AbortController();
  const failed = deferred<never>();
  // Callers may await it, and need not: a rejection that nobody awaits would end the process without its line.
  failed.promise.catch(() => undefined);

  const check = (among: readonly TopicName[]): Promise<void> =>
    retry(
      async () => {
        const unknown = await findUnknownEvent(deps, among);
        if (unknown) throw new LedgerBehindLog(unknown);
      },
      {
        pauses,
        signal: stopped.signal,
        isRetryable: (error) => !(error instanceof LedgerBehindLog),
        onFailure(err) {
          logger.warn({ err }, 'the ledger could not be compared with the log; trying again');
        },
      },
    ).catch((error: unknown) => {
      // Else it was stopped.
      if (error instanceof LedgerBehindLog) failed.reject(error);
      return never;
    });

  const begin = async (): Promise<void> => {
    await check(others);
    void check([topics.visits.name]);
  };
  let current = begin();
  let lost: Deferred<void> | null = null;
  const unsubscribe = listener.onGap((state) => {
    if (state === 'back') {
      current = begin();
      lost?.resolve();
      lost = null;
    } else if (!lost) {
      lost = deferred();
      current = lost.promise;
    }
  });

  return {
    /**
     * Resolves when the ledger is known to have what the log has, but for visits: they are looked at
     * afterwards. Never where the ledger is older.
     */
    async upToDate(): Promise<void> {
      for (let seen; seen !== current;) {
        seen = current;
        await seen;
      }
    },
    /** Never resolves; rejects with `LedgerBehindLog`. */
    failed: failed.promise,
    stop() {
      stopped.abort();
      unsubscribe();
    },
  };
};
