/**
 * Detects a ledger that is older than its log, because PostgreSQL was restored from a snapshot or a lagging replica was
 * promoted. It would assign an alias or a click a second time.
 */
import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import { ledgerSource } from '../../schemas/events/envelope.js';
import { topicNames, topics, type TopicName } from '../../schemas/events/topics.js';
import { platformSubject } from '../../schemas/folds/platform.js';
import { deferred, never, type Deferred } from '../platform/concurrency/deferred.js';
import { retry } from '../platform/concurrency/retry.js';
import { linklogCommand } from '../platform/process/own-command.js';
import { ConfigError } from '../platform/errors.js';
import type { EventLog, LogRecord, PartitionRange } from '../event-log/port.js';
import { createOutageLog, type Logger } from '../platform/logging.js';
import type { NotificationListener } from '../platform/postgres/listener.js';
import type { Pool } from '../platform/postgres/pool.js';
import { readableEvents } from './readable-events.js';

/** Records at the end of a partition that are compared, which are as many as the relay sends in a round. */
const maxTail = 1_000;

class LedgerBehindLog extends ConfigError {
  constructor({ type, subject, sequence }: LinklogEvent) {
    super(
      `PostgreSQL is older than the log in Kafka: it does not know ${type} of ${subject} (sequence ` +
        `${sequence}). Connect the PostgreSQL that wrote it; if that is lost, "${linklogCommand()} backup" ` +
        `and "${linklogCommand()} restore" into an empty installation`,
    );
  }
}

/** The column of the subject in each table of the topic of accounts. */
const accountTables = {
  ...{ api_keys: 'id', alias_overrides: 'alias', domains: 'domain', webhooks: 'id', shares: 'id' },
  ...{ people: 'id', invitations: 'id', utm_templates: 'id' },
};

/** Statements that select the highest sequences of the subjects $1, by topic. */
const sequences: Record<TopicName, string> = {
  [topics.links.name]: `SELECT subject, sequence FROM ledger.links
    WHERE subject = ANY ($1::text[])`,
  [topics.visits.name]: `SELECT subject, visit_sequence::bigint AS sequence FROM ledger.links
    WHERE subject = ANY ($1::text[])`,
  [topics.accounts.name]: Object.entries(accountTables)
    .map(
      ([table, key]) =>
        `SELECT ${key} AS subject, sequence FROM ledger.${table} WHERE ${key} = ANY ($1::text[])`,
    )
    .join(' UNION ALL '),
  [topics.platform.name]: `SELECT '${platformSubject}' AS subject, sequence FROM ledger.platform
    WHERE '${platformSubject}' = ANY ($1::text[])`,
  [topics.usage.name]: `SELECT key_id AS subject, usage_sequence AS sequence FROM ledger.key_meters
    WHERE key_id = ANY ($1::text[])`,
};

/** Returns the events of the ledger. */
export const decided = (topic: TopicName, records: readonly LogRecord[]): LinklogEvent[] =>
  readableEvents(topic, records).filter(({ source }) => source === ledgerSource);

interface LedgerAndLog {
  readonly pool: Pool;
  readonly log: Pick<EventLog, 'ranges' | 'read'>;
  /** Returns an offset below which the ledger has all events. */
  readonly knownThrough: (topic: TopicName, partition: number) => Promise<number>;
}

/** Returns the newest event of each subject at the end of a partition. */
const newestOf = async (
  { log, knownThrough }: LedgerAndLog,
  topic: TopicName,
  { partition, first, next }: PartitionRange,
): Promise<LinklogEvent[]> => {
  const from = Math.max(first, next - maxTail, await knownThrough(topic, partition));
  const newest = new Map<string, LinklogEvent>();
  for await (const { records } of log.read(topic, partition, from, next)) {
    for (const event of decided(topic, records)) {
      // A relay that has lost its lock may repeat older events.
      if (event.sequence > (newest.get(event.subject)?.sequence ?? 0)) {
        newest.set(event.subject, event);
      }
    }
  }
  return [...newest.values()];
};

/** Finds an event of the ledger at the end of a partition that the ledger does not have. */
export const findUnknownEvent = async (
  ledgerAndLog: LedgerAndLog,
  among: readonly TopicName[] = topicNames,
): Promise<LinklogEvent | null> => {
  for (const topic of among) {
    const ranges = await ledgerAndLog.log.ranges(topic);
    const found = await Promise.all(ranges.map((range) => newestOf(ledgerAndLog, topic, range)));
    const events = found.flat();
    if (events.length === 0) continue;
    // Read after the log, because the relay sends only committed events.
    const { rows } = await ledgerAndLog.pool.query<{ subject: string; sequence: number }>(
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

/** Visits are checked last, because few of them are events of the ledger, so the ends of their partitions must be read. */
const others = topicNames.filter((name) => name !== topics.visits.name);

/** Checks the ledger now and after each reconnection, which may lead to another PostgreSQL. */
export const watchLedger = (
  deps: LedgerAndLog & { readonly listener: NotificationListener; readonly logger: Logger },
) => {
  const { listener, logger } = deps;
  const stopped = new AbortController();
  const message = 'the ledger could not be compared with the log; trying again';
  const outage = createOutageLog(logger, message);
  const failed = deferred<never>();
  // It may reject before a caller awaits it.
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
        onFailure: outage.failed,
      },
    ).catch((error: unknown) => {
      // Otherwise it was stopped.
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
    /** Resolves when the ledger has all events of the log, except visits, which are checked afterwards. */
    async upToDate(): Promise<void> {
      for (let seen; seen !== current;) {
        seen = current;
        await seen;
      }
    },
    /** Never resolves. Rejects with `LedgerBehindLog`. */
    failed: failed.promise,
    stop() {
      stopped.abort();
      unsubscribe();
    },
  };
};
