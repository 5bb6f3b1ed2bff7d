import type { Redis } from 'ioredis';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { ledgerNow } from '../../ops/ledger/clock.js';
import {
  createCircuitBreaker,
  type BreakerState,
  type CircuitBreaker,
} from '../../ops/platform/concurrency/circuit-breaker.js';
import { withinDeadline } from '../../ops/platform/concurrency/deadline.js';
import { jsonText } from '../../ops/platform/json.js';
import { createFloodLog, type Logger } from '../../ops/platform/logging.js';
import type { Queryable } from '../../ops/platform/postgres/pool.js';
import { recordedStatuses } from '../../schemas/folds/link-status.js';
import { accountName } from '../../schemas/http/keys.js';
import type { ServedLink } from '../redirect/decision.js';
import { copyLifeMs, type Freshness } from './freshness.js';

/** Of the texts in Redis. A text of another version is not found, rather than misread. */
const version = 4;

/** Texts in Redis by short code, those of a batch with one write to the socket. */
export class CopyStore {
  /** @param installation keeps installations apart that share a Redis */
  constructor(
    private readonly redis: Redis,
    private readonly installation: string,
  ) {}

  /** `null` where there is none, or something that is no text. */
  read(codes: readonly string[]): Promise<readonly (string | null)[]> {
    return this.redis.mget(codes.map((code) => this.#keyOf(code)));
  }

  async write(texts: ReadonlyMap<string, string>, lifeMs: number): Promise<void> {
    const pipeline = this.redis.pipeline();
    for (const [code, text] of texts) pipeline.set(this.#keyOf(code), text, 'PX', lifeMs);
    for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error;
  }

  #keyOf(code: string): string {
    return `linklog:${this.installation}:link-v${version}:${code}`;
  }
}

/** The key that signs this installation's copies. It is where no Redis is: in PostgreSQL. */
export const readCopyKey = async (postgres: Queryable): Promise<Buffer> => {
  const { rows } = await postgres.query<{ key: Buffer }>('SELECT key FROM ledger.copy_key');
  const key = rows[0]?.key;
  if (!key) throw new Error('The ledger has no key for copies');
  return key;
};

/** PostgreSQL's time without a query: the edges' own clocks may differ by any amount. */
export class DatabaseClock {
  #ahead: { readonly least: number; readonly most: number } | null = null;

  /** @param clock milliseconds of a clock that never goes back */
  constructor(
    private readonly pool: Queryable,
    private readonly clock: () => number = () => performance.now(),
  ) {}

  /** The bounds between which it is now, in milliseconds; `null` before the first `ask`. */
  now(): { readonly earliest: number; readonly latest: number } | null {
    if (this.#ahead === null) return null;
    const { least, most } = this.#ahead;
    return { earliest: this.clock() + least, latest: this.clock() + most };
  }

  async ask(): Promise<void> {
    const askedAt = this.clock();
    const told = (await ledgerNow(this.pool)).getTime();
    // It was told at some time since it was asked for, cut to the millisecond.
    this.#ahead = { least: told - this.clock(), most: told + 1 - askedAt };
  }
}

/** Failures in a row after which it is left alone, and for how long. */
const failures = 3;
const pauseMs = 1_000;
const defaultTimeoutMs = 20;

/** One log line for the forged copies of so long. */
const warnEveryMs = 60_000;

/** A limit is the ledger's to know, and a password's hash belongs in no cache of others. */
const isShared = (link: ServedLink): boolean => !link.limited && link.passwordHash === null;

/** What `Date` can hold. */
const time = z.int().min(0).max(8.64e15);

const copyText = jsonText.pipe(
  z.object({
    account: accountName,
    status: z.enum(recordedStatuses),
    // What can stand in a header.
    location: z.string().regex(/^https?:\/\/[\x21-\x7e]+$/i),
    createdAt: time,
    startsAt: time.nullable(),
    expiresAt: time.nullable(),
    sequence: z.int().positive(),
    readAt: time,
  }),
);

/** Base64url characters of an HMAC, which a text begins with; the copy follows. */
const macLength = 43;

/** A code has no space in it, so no two pairs of code and copy are the same bytes. */
const macOf = (key: Buffer, code: string, copy: string): Buffer =>
  createHmac('sha256', key).update(`${code} ${copy}`).digest();

const textOf = (key: Buffer, link: ServedLink, readAt: number): string => {
  const { code, account, status, location, createdAt, startsAt, expiresAt, sequence } = link;
  const copy: z.output<typeof copyText> = {
    ...{ account, status, location, createdAt, startsAt, expiresAt, sequence },
    readAt: Math.floor(readAt),
  };
  const json = JSON.stringify(copy);
  return macOf(key, code, json).toString('base64url') + json;
};

/** The copy in a text; `null` unless an edge of this installation made it, for this code. */
const copyOf = (key: Buffer, code: string, text: string): z.output<typeof copyText> | null => {
  const mac = Buffer.from(text.slice(0, macLength), 'base64url');
  const json = text.slice(macLength);
  const due = macOf(key, code, json);
  if (mac.length !== due.length || !timingSafeEqual(mac, due)) return null;
  return copyText.safeParse(json).data ?? null;
};

/**
 * Copies of links that the edges keep for each other, in a store that may be slow, emptied, filled with
 * anything, or gone. A copy is served only if an edge has signed it, and `freshness` knows that it lacks no
 * change. Never fails: the reader takes the missing links from PostgreSQL.
 */
export class SharedCache {
  /** Outcomes of look-ups and writes, by copies; they only ever rise. */
  readonly lookups = { hit: 0, miss: 0, refused: 0, forged: 0, failed: 0, unasked: 0 };
  readonly writes = { done: 0, failed: 0, skipped: 0 };
  #circuit: BreakerState = 'closed';
  readonly #breaker: CircuitBreaker;
  #isAway = false;
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
      /** Milliseconds of a clock that never goes back. */
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
  async get(codes: readonly string[]): Promise<ReadonlyMap<string, ServedLink>> {
    const { freshness, store } = this.options;
    const found = new Map<string, ServedLink>();
    const texts = freshness.settled ? await this.#attempt(() => store.read(codes)) : null;
    if (texts === null) this.lookups.unasked += codes.length;
    else if (texts instanceof Error) this.lookups.failed += codes.length;
    else {
      codes.forEach((code, index) => {
        const text = texts.value[index] ?? null;
        const link = text === null ? 'miss' : this.#linkOf(code, text);
        if (typeof link === 'string') {
          this.lookups[link] += 1;
          if (link === 'forged') this.#warnOfForged();
        } else {
          this.lookups.hit += 1;
          found.set(code, link);
        }
      });
    }
    return found;
  }

  /** To be called before links are read: the function that it returns stores copies of them. */
  reading(): (links: readonly ServedLink[]) => void {
    const readAt = this.options.clock.now()?.earliest;
    return (links) => {
      const { freshness } = this.options;
      const shared = links.filter((link) => isShared(link) && freshness.isCurrent(link));
      if (shared.length === 0) return;
      // Writes that wait for a slow store would be a queue without end.
      if (readAt === undefined || this.#isWriting) this.writes.skipped += shared.length;
      else void this.#write(shared, readAt);
    };
  }

  /** `null` where the store is left alone. */
  async #attempt<Value>(ask: () => Promise<Value>): Promise<{ value: Value } | Error | null> {
    const { logger, timeoutMs = defaultTimeoutMs } = this.options;
    if (!this.#breaker.permits()) return null;
    try {
      const value = await withinDeadline(timeoutMs, ask);
      this.#breaker.succeeded();
      if (this.#isAway) logger.info('the shared cache is used again');
      this.#isAway = false;
      return { value };
    } catch (err) {
      this.#breaker.failed();
      // One line when the store goes, not one for each try.
      if (this.#circuit === 'open' && !this.#isAway) {
        this.#isAway = true;
        logger.warn({ err }, 'the shared cache is not used: it does not answer in time');
      }
      return err as Error;
    }
  }

  /** The link in a text, if it may be served now. */
  #linkOf(code: string, text: string): ServedLink | 'forged' | 'refused' {
    const { clock, freshness, key } = this.options;
    const found = copyOf(key, code, text);
    if (found === null) return 'forged';
    const { readAt, ...link } = { ...found, code };
    const latest = clock.now()?.latest;
    if (latest === undefined || !freshness.accepts({ ...link, readAt }, latest)) return 'refused';
    return { ...link, limited: false, passwordHash: null };
  }

  #warnOfForged(): void {
    if (this.#forgeries(this.#now()) === null) return;
    const { forged } = this.lookups;
    this.options.logger.warn({ forged }, 'Redis holds copies of links that no edge has made');
  }

  async #write(links: readonly ServedLink[], readAt: number): Promise<void> {
    this.#isWriting = true;
    const { key } = this.options;
    const copies = new Map(links.map((link) => [link.code, textOf(key, link, readAt)]));
    const outcome = await this.#attempt(() => this.options.store.write(copies, copyLifeMs));
    this.#isWriting = false;
    const result = outcome === null ? 'skipped' : outcome instanceof Error ? 'failed' : 'done';
    this.writes[result] += links.length;
  }
}
