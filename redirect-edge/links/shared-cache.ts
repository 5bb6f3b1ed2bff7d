import type { Redis } from 'ioredis';
import { z } from 'zod';
import { ledgerNow } from '../../ops/ledger/clock.js';
import {
  createCircuitBreaker,
  type BreakerState,
} from '../../ops/platform/concurrency/circuit-breaker.js';
import { deferred } from '../../ops/platform/concurrency/deferred.js';
import type { Logger } from '../../ops/platform/logging.js';
import type { Queryable } from '../../ops/platform/postgres/pool.js';
import { accountName } from '../../schemas/http/keys.js';
import type { ServedLink } from '../domain/visit.js';
import { copyLifeMs, type Freshness } from './freshness.js';

/** Where edges lay down texts for each other, by code. */
export interface CopyStore {
  /** `null` where there is none, or something that is no text. */
  read(codes: readonly string[]): Promise<readonly (string | null)[]>;
  write(texts: ReadonlyMap<string, string>, lifeMs: number): Promise<void>;
}

/** Of the texts. One of another version is not found, rather than misread. */
const version = 1;

/**
 * Texts in Redis, those of a batch with one write to the socket.
 *
 * `installation` keeps those apart that share a Redis: the same code is another link there.
 */
export const createCopyStore = (redis: Redis, installation: string): CopyStore => {
  const keyOf = (code: string): string => `linklog:${installation}:link-v${version}:${code}`;
  return {
    read: (codes) => redis.mget(codes.map(keyOf)),
    async write(texts, lifeMs) {
      const pipeline = redis.pipeline();
      for (const [code, text] of texts) pipeline.set(keyOf(code), text, 'PX', lifeMs);
      for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error;
    },
  };
};

/** PostgreSQL's time without asking for it: the edges' own clocks may differ by any amount. */
export interface DatabaseClock {
  /** The bounds between which it is now, in milliseconds; `null` before it was asked once. */
  now(): { readonly earliest: number; readonly latest: number } | null;
  ask(): Promise<void>;
}

/** `now` is in milliseconds, of a clock that never goes back. */
export const createDatabaseClock = (
  pool: Queryable,
  now: () => number = () => performance.now(),
): DatabaseClock => {
  let ahead: { readonly least: number; readonly most: number } | null = null;
  return {
    now: () =>
      ahead === null ? null : { earliest: now() + ahead.least, latest: now() + ahead.most },
    async ask() {
      const askedAt = now();
      const told = (await ledgerNow(pool)).getTime();
      // It was told at some time since it was asked for, cut to the millisecond.
      ahead = { least: told - now(), most: told + 1 - askedAt };
    },
  };
};

/** Copies of links that the edges lay down for each other. Never fails: what is not had is read. */
export interface SharedCache {
  /** Those that may be served. */
  get(codes: readonly string[]): Promise<ReadonlyMap<string, ServedLink>>;
  /** To be called before links are read: what it returns lays down copies of them. */
  reading(): (links: readonly ServedLink[]) => void;
}

/** What came of look-ups and writes, by copies; but for the circuit's state, it only ever rises. */
export interface SharedCacheActivity {
  readonly lookups: Readonly<
    Record<'hit' | 'miss' | 'refused' | 'unreadable' | 'failed' | 'unasked', number>
  >;
  readonly writes: Readonly<Record<'done' | 'failed' | 'skipped', number>>;
  readonly circuit: BreakerState;
}

/** Where no cache is shared. */
export const noSharedCache: SharedCache = {
  get: () => Promise.resolve(new Map()),
  reading: () => () => undefined,
};

/** Failures in a row after which it is left alone, and for how long. */
const failures = 3;
const pauseMs = 1_000;
const defaultTimeoutMs = 20;

/** A limit is the ledger's to know, and a password's hash belongs in no cache of others. */
const isShared = (link: ServedLink): boolean => !link.limited && link.passwordHash === null;

/** What `Date` can hold. */
const time = z.int().min(0).max(8.64e15);

const copyText = z
  .string()
  .transform((text, ctx): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      ctx.addIssue('is no JSON');
      return z.NEVER;
    }
  })
  .pipe(
    z.object({
      code: z.string(),
      account: accountName,
      status: z.enum(['active', 'expired', 'blocked']),
      // What can stand in a header.
      location: z.string().regex(/^https?:\/\/[\x21-\x7e]+$/i),
      createdAt: time,
      expiresAt: time.nullable(),
      sequence: z.int().positive(),
      readAt: time,
    }),
  );

const textOf = (link: ServedLink, readAt: number): string => {
  const { code, account, status, location, createdAt, expiresAt, sequence } = link;
  const end = expiresAt === Infinity ? null : expiresAt;
  const copy: z.output<typeof copyText> = {
    ...{ code, account, status, location, createdAt, expiresAt: end, sequence },
    readAt: Math.floor(readAt),
  };
  return JSON.stringify(copy);
};

class TookTooLong extends Error {
  readonly code = 'TIMEOUT';
  readonly retryable = true;
}

/** An answer that lies in the socket at the deadline counts: then we were busy, not the server. */
const inTime = async <Value>(answer: Promise<Value>, ms: number): Promise<Value> => {
  const late = deferred<never>();
  const timer = setTimeout(() => {
    setImmediate(() => {
      late.reject(new TookTooLong(`No answer within ${ms} ms`));
    });
  }, ms);
  try {
    return await Promise.race([answer, late.promise]);
  } finally {
    clearTimeout(timer);
  }
};

/**
 * Keeps copies in a store that may be slow, emptied, filled with anything, or gone. What comes out of
 * it is served only if `freshness` knows that it lacks no change.
 */
export const createSharedCache = (options: {
  readonly store: CopyStore;
  readonly freshness: Freshness;
  readonly clock: Pick<DatabaseClock, 'now'>;
  readonly logger: Logger;
  readonly timeoutMs?: number;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}): SharedCache & { readonly activity: SharedCacheActivity } => {
  const { store, freshness, clock, logger, timeoutMs = defaultTimeoutMs } = options;
  const activity = {
    lookups: { hit: 0, miss: 0, refused: 0, unreadable: 0, failed: 0, unasked: 0 },
    writes: { done: 0, failed: 0, skipped: 0 },
    circuit: 'closed' as BreakerState,
  };
  const { lookups, writes } = activity;
  const breaker = createCircuitBreaker({
    failures,
    pauseMs,
    now: options.now ?? (() => performance.now()),
    onChange: (state) => {
      activity.circuit = state;
    },
  });
  let away = false;
  let writing = false;

  /** `null` where it is not asked at all. */
  const attempt = async <Value>(
    ask: () => Promise<Value>,
  ): Promise<{ value: Value } | Error | null> => {
    if (!breaker.permits()) return null;
    try {
      const value = await inTime(ask(), timeoutMs);
      breaker.succeeded();
      if (away) logger.info('the shared cache is used again');
      away = false;
      return { value };
    } catch (err) {
      breaker.failed();
      // One line when it goes, not one for each try.
      if (activity.circuit === 'open' && !away) {
        away = true;
        logger.warn({ err }, 'the shared cache is not used: it does not answer in time');
      }
      return err as Error;
    }
  };

  /** What a text says of a link, if it may be served now. */
  const read = (code: string, text: string): ServedLink | 'unreadable' | 'refused' => {
    const parsed = copyText.safeParse(text);
    if (!parsed.success || parsed.data.code !== code) return 'unreadable';
    const { readAt, ...copy } = parsed.data;
    const latest = clock.now()?.latest;
    if (latest === undefined || !freshness.accepts({ ...copy, readAt }, latest)) return 'refused';
    return { ...copy, expiresAt: copy.expiresAt ?? Infinity, limited: false, passwordHash: null };
  };

  const write = async (links: readonly ServedLink[], readAt: number): Promise<void> => {
    writing = true;
    const copies = new Map(links.map((link) => [link.code, textOf(link, readAt)]));
    const outcome = await attempt(() => store.write(copies, copyLifeMs));
    writing = false;
    const what = outcome === null ? 'skipped' : outcome instanceof Error ? 'failed' : 'done';
    writes[what] += links.length;
  };

  return {
    activity,
    async get(codes) {
      const found = new Map<string, ServedLink>();
      const texts = freshness.settled ? await attempt(() => store.read(codes)) : null;
      if (texts === null) lookups.unasked += codes.length;
      else if (texts instanceof Error) lookups.failed += codes.length;
      else {
        codes.forEach((code, index) => {
          const text = texts.value[index] ?? null;
          const link = text === null ? 'miss' : read(code, text);
          if (typeof link === 'string') lookups[link] += 1;
          else {
            lookups.hit += 1;
            found.set(code, link);
          }
        });
      }
      return found;
    },
    reading() {
      const readAt = clock.now()?.earliest;
      return (links) => {
        const shared = links.filter((link) => isShared(link) && freshness.isCurrent(link));
        if (shared.length === 0) return;
        // What waits while it is slow would be a queue without end.
        if (readAt === undefined || writing) writes.skipped += shared.length;
        else void write(shared, readAt);
      };
    },
  };
};
