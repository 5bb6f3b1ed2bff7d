import type { Redis } from 'ioredis';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { ledgerNow } from '../../ops/ledger/clock.js';
import {
  createCircuitBreaker,
  type BreakerState,
  type CircuitBreaker,
} from '../../ops/platform/concurrency/retry.js';
import { withinDeadline } from '../../ops/platform/concurrency/deadline.js';
import { jsonText } from '../../ops/platform/parse.js';
import { createFloodLog, type Logger } from '../../ops/platform/logging.js';
import type { Queryable } from '../../ops/platform/postgres/pool.js';
import { recordedStatuses } from '../../schemas/folds/link-status.js';
import { accountName } from '../../schemas/http/keys.js';
import { maxCodes } from '../../schemas/folds/link.js';
import { createdOptions, optionsIn } from '../../schemas/link-options.js';
import { campaignsIn, type ServedLink } from '../redirect/decision.js';
import { copyLifeMs, type Freshness } from './freshness.js';

/** The format of the texts in Redis. It is part of the key, so a text of another format is a miss. */
const version = 6;

/** Texts in Redis by short code. A batch is one write to the socket. */
export class CopyStore {
  /** @param installation part of each key: several installations may share a Redis */
  constructor(
    private readonly redis: Redis,
    private readonly installation: string,
  ) {}

  /** `null` if there is no value, or it is not a string. */
  read(subjects: readonly string[]): Promise<readonly (string | null)[]> {
    return this.redis.mget(subjects.map((subject) => this.#keyOf(subject)));
  }

  async write(texts: ReadonlyMap<string, string>, lifeMs: number): Promise<void> {
    const pipeline = this.redis.pipeline();
    for (const [subject, text] of texts) pipeline.set(this.#keyOf(subject), text, 'PX', lifeMs);
    for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error;
  }

  #keyOf(subject: string): string {
    return `linklog:${this.installation}:link-v${version}:${subject}`;
  }
}

/** The key that signs this installation's copies. It is in PostgreSQL, so access to Redis does not reveal it. */
export const readCopyKey = async (postgres: Queryable): Promise<Buffer> => {
  const { rows } = await postgres.query<{ key: Buffer }>('SELECT key FROM ledger.copy_key');
  const key = rows[0]?.key;
  if (!key) throw new Error('ledger.copy_key has no row');
  return key;
};

/** Estimates PostgreSQL's clock without a query, because the clocks of edges may differ by any amount. */
export class DatabaseClock {
  /** Bounds of PostgreSQL's time minus the local time, in milliseconds. */
  #offset: { readonly min: number; readonly max: number } | null = null;

  /** @param clock a monotonic clock, in milliseconds */
  constructor(
    private readonly pool: Queryable,
    private readonly clock: () => number = () => performance.now(),
  ) {}

  /** The bounds of PostgreSQL's current time, in milliseconds; `null` before the first `sync`. */
  now(): { readonly earliest: number; readonly latest: number } | null {
    if (this.#offset === null) return null;
    const { min, max } = this.#offset;
    return { earliest: this.clock() + min, latest: this.clock() + max };
  }

  async sync(): Promise<void> {
    const sentAt = this.clock();
    const databaseTime = (await ledgerNow(this.pool)).getTime();
    // PostgreSQL read its clock between the request and the response, and truncated it to the millisecond.
    this.#offset = { min: databaseTime - this.clock(), max: databaseTime + 1 - sentAt };
  }
}

/** Consecutive failures that open the circuit breaker, and how long it stays open. */
const failures = 3;
const pauseMs = 1_000;
const defaultTimeoutMs = 20;

/** The least time between two log lines about forged copies. */
const warnEveryMs = 60_000;

/** Clicks of a limit are counted in the ledger alone, and password hashes are not stored in Redis. */
const isShared = (link: ServedLink): boolean => !link.limited && link.passwordHash === null;

/** Milliseconds since 1970, in the range of `Date`. */
const time = z.int().min(0).max(8.64e15);

const copyText = jsonText.pipe(
  z.object({
    account: accountName,
    status: z.enum(recordedStatuses),
    // Only characters that a header may contain.
    location: z.string().regex(/^[a-z][a-z\d+.-]*:[\x21-\x7e]+$/i),
    options: z.object(createdOptions).transform(optionsIn),
    codes: z.array(z.string()).max(maxCodes),
    createdAt: time,
    startsAt: time.nullable(),
    expiresAt: time.nullable(),
    sequence: z.int().positive(),
    readAt: time,
  }),
);

/** The length of a base64url HMAC-SHA-256. A text is the HMAC, then the copy as JSON. */
const macLength = 43;

/** A subject contains no space, so the signed bytes are unambiguous. */
const macOf = (key: Buffer, subject: string, copy: string): Buffer =>
  createHmac('sha256', key).update(`${subject} ${copy}`).digest();

const textOf = (key: Buffer, link: ServedLink, readAt: number): string => {
  const { subject, account, status, location, createdAt, startsAt, expiresAt, sequence } = link;
  const { options, codes } = link;
  const copy: z.output<typeof copyText> = {
    ...{ account, status, location, options, codes: [...codes] },
    ...{ createdAt, startsAt, expiresAt, sequence },
    readAt: Math.floor(readAt),
  };
  const json = JSON.stringify(copy);
  return macOf(key, subject, json).toString('base64url') + json;
};

/** The copy in a text; `null` unless an edge of this installation signed it for this subject. */
const copyOf = (key: Buffer, subject: string, text: string): z.output<typeof copyText> | null => {
  const mac = Buffer.from(text.slice(0, macLength), 'base64url');
  const json = text.slice(macLength);
  const expected = macOf(key, subject, json);
  if (mac.length !== expected.length || !timingSafeEqual(mac, expected)) return null;
  return copyText.safeParse(json).data ?? null;
};

/**
 * Copies of links that edges share through a store. The store may be slow, emptied, manipulated or unreachable. A copy
 * is served only if an edge signed it and `freshness` accepts it. Methods never reject: the caller reads the missing
 * links from PostgreSQL.
 */
export class SharedCache {
  /** Counters of looked-up and written copies, by outcome. */
  readonly lookups = { hit: 0, miss: 0, refused: 0, forged: 0, failed: 0, skipped: 0 };
  readonly writes = { done: 0, failed: 0, skipped: 0 };
  #circuit: BreakerState = 'closed';
  readonly #breaker: CircuitBreaker;
  #isUnavailable = false;
  #isWriting = false;
  readonly #forgeries = createFloodLog(warnEveryMs, 1);
  readonly #now: () => number;

  constructor(
    private readonly options: {
      /** See `readCopyKey`. */
      readonly key: Buffer;
      readonly store: Pick<CopyStore, 'read' | 'write'>;
      readonly freshness: Freshness;
      readonly clock: Pick<DatabaseClock, 'now'>;
      readonly logger: Logger;
      readonly timeoutMs?: number;
      /** A monotonic clock, in milliseconds. */
      readonly now?: () => number;
    },
  ) {
    this.#now = options.now ?? (() => performance.now());
    this.#breaker = createCircuitBreaker({
      failures,
      pauseMs,
      now: this.#now,
      onChange: (state) => {
        this.#circuit = state;
      },
    });
  }

  get circuit(): BreakerState {
    return this.#circuit;
  }

  /** The copies that may be served. */
  async get(subjects: readonly string[]): Promise<ReadonlyMap<string, ServedLink>> {
    const { freshness, store } = this.options;
    const found = new Map<string, ServedLink>();
    const texts = freshness.isComplete ? await this.#attempt(() => store.read(subjects)) : null;
    if (texts === null) this.lookups.skipped += subjects.length;
    else if (texts instanceof Error) this.lookups.failed += subjects.length;
    else {
      subjects.forEach((subject, index) => {
        const text = texts.value[index] ?? null;
        const link = text === null ? 'miss' : this.#linkOf(subject, text);
        if (typeof link === 'string') {
          this.lookups[link] += 1;
          if (link === 'forged') this.#warnAboutForgeries();
        } else {
          this.lookups.hit += 1;
          found.set(subject, link);
        }
      });
    }
    return found;
  }

  /** Call it before links are read. The returned function stores copies of them. */
  reading(): (links: readonly ServedLink[]) => void {
    const readAt = this.options.clock.now()?.earliest;
    return (links) => {
      const { freshness } = this.options;
      const shared = links.filter((link) => isShared(link) && freshness.isCurrent(link));
      if (shared.length === 0) return;
      // Writes that wait for a slow store would be an unbounded queue.
      if (readAt === undefined || this.#isWriting) this.writes.skipped += shared.length;
      else void this.#write(shared, readAt);
    };
  }

  /** `null` while the circuit breaker is open. */
  async #attempt<Value>(call: () => Promise<Value>): Promise<{ value: Value } | Error | null> {
    const { logger, timeoutMs = defaultTimeoutMs } = this.options;
    if (!this.#breaker.permits()) return null;
    try {
      const value = await withinDeadline(timeoutMs, call);
      this.#breaker.succeeded();
      if (this.#isUnavailable) logger.info('the shared cache is used again');
      this.#isUnavailable = false;
      return { value };
    } catch (err) {
      this.#breaker.failed();
      // One line for each outage, not one for each attempt.
      if (this.#circuit === 'open' && !this.#isUnavailable) {
        this.#isUnavailable = true;
        logger.warn({ err }, 'the shared cache is not used: it does not respond in time');
      }
      return err as Error;
    }
  }

  /** The link in a text, or why it must not be served. */
  #linkOf(subject: string, text: string): ServedLink | 'forged' | 'refused' {
    const { clock, freshness, key } = this.options;
    const found = copyOf(key, subject, text);
    if (found === null) return 'forged';
    const { readAt, ...link } = { ...found, subject };
    const latest = clock.now()?.latest;
    if (latest === undefined || !freshness.accepts({ ...link, readAt }, latest)) return 'refused';
    return { ...link, campaigns: campaignsIn(link), limited: false, passwordHash: null };
  }

  #warnAboutForgeries(): void {
    if (this.#forgeries(this.#now()) === null) return;
    const { forged } = this.lookups;
    this.options.logger.warn({ forged }, 'Redis holds copies of links that no edge has signed');
  }

  async #write(links: readonly ServedLink[], readAt: number): Promise<void> {
    this.#isWriting = true;
    const { key } = this.options;
    const copies = new Map(links.map((link) => [link.subject, textOf(key, link, readAt)]));
    const outcome = await this.#attempt(() => this.options.store.write(copies, copyLifeMs));
    this.#isWriting = false;
    const result = outcome === null ? 'skipped' : outcome instanceof Error ? 'failed' : 'done';
    this.writes[result] += links.length;
  }
}
