import {
  createCircuitBreaker,
  type BreakerState,
} from '../../ops/platform/concurrency/circuit-breaker.js';
import { deferred } from '../../ops/platform/concurrency/deferred.js';
import type { Logger } from '../../ops/platform/logging.js';
import type { SafetyCheck, SafetyVerdict } from './safety-check.js';
import { maxUrlsPerCall, type FindThreats, type ThreatMatch } from './threat-matches.js';
import { createVerdictCache, type KnownVerdict } from './verdict-cache.js';
import { parseDestination, parseUrl } from '../../schemas/parse-url.js';

export const safeBrowsingLimits = {
  /** Milliseconds after which a check answers `unknown`. */
  timeoutMs: 2_000,
  maxCalls: 4,
  maxWaiting: 5_000,
  maxCached: 50_000,
  /** Milliseconds that a verdict `safe` is cached. */
  safeMs: 300_000,
  /** Milliseconds that a verdict `unsafe` is cached, unless the service gives a time. */
  unsafeMs: 300_000,
  failures: 5,
  pauseMs: 5_000,
};

export type SafeBrowsingLimits = typeof safeBrowsingLimits;

export type SafeBrowsing = ReturnType<typeof createSafeBrowsing>;

interface Waiting {
  readonly url: string;
  readonly resolve: (verdict: SafetyVerdict) => void;
}

/** Milliseconds added to a check's time-out, so that the call's own time-out comes first. */
const graceMs = 50;

/** The form in which the service compares URLs: without the fragment. */
const askedForm = (text: string): string => {
  const url = parseDestination(text);
  url.hash = '';
  const host = url.hostname.replace(/(?<!\.)\.+$/, '');
  if (host !== '') url.hostname = host;
  return url.href;
};

const sameForm = (text: string): string => (parseUrl(text) ? askedForm(text) : text);

/** The matches by URL. @throws Error if the answer names a URL that was not asked for */
const matchesByUrl = (
  urls: readonly string[],
  matches: readonly ThreatMatch[],
): ReadonlyMap<string, ThreatMatch> => {
  const found = new Map(matches.map((match) => [sameForm(match.url), match]));
  const asked = new Set(urls);
  // One of the URLs was found, and the answer does not tell which.
  if (![...found.keys()].every((url) => asked.has(url))) {
    throw new Error('It told of URLs not asked for');
  }
  return found;
};

/**
 * Asks a reputation service with few calls: verdicts are cached, equal URLs share a query, the URLs of
 * one event-loop tick share a call. While the service is away, the verdict is `unknown`.
 */
export const createSafeBrowsing = (options: {
  readonly findThreats: FindThreats;
  readonly logger: Logger;
  readonly limits?: SafeBrowsingLimits;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}) => {
  const { findThreats, logger, limits = safeBrowsingLimits } = options;
  const now = options.now ?? (() => performance.now());
  /** Counters since the start, and the breaker's state. */
  const activity = {
    cache: { hit: 0, miss: 0 },
    calls: { answered: 0, failed: 0 },
    breaker: 'closed' as BreakerState,
  };
  const cache = createVerdictCache({ maxEntries: limits.maxCached, now });
  const breaker = createCircuitBreaker({
    failures: limits.failures,
    pauseMs: limits.pauseMs,
    now,
    onChange: (state) => {
      activity.breaker = state;
      logger.warn({ state }, 'the circuit to the web safety service changed');
    },
  });
  const asking = new Map<string, Promise<SafetyVerdict>>();
  const waiting: Waiting[] = [];
  let calls = 0;
  let scheduled = false;

  /** Asks about `maxUrlsPerCall` URLs at most. @returns no verdicts where there was no answer */
  const call = async (urls: readonly string[]): Promise<ReadonlyMap<string, KnownVerdict>> => {
    let matches: ReadonlyMap<string, ThreatMatch>;
    try {
      matches = matchesByUrl(urls, await findThreats(urls));
    } catch (err) {
      logger.warn({ err, urls: urls.length }, 'the web safety service gave no answer');
      activity.calls.failed += 1;
      breaker.failed();
      return new Map();
    }
    activity.calls.answered += 1;
    breaker.succeeded();
    return new Map(
      urls.map((url) => {
        const match = matches.get(url);
        const verdict = match ? 'unsafe' : 'safe';
        cache.set(url, verdict, match ? (match.holdsMs ?? limits.unsafeMs) : limits.safeMs);
        return [url, verdict];
      }),
    );
  };

  const pump = (): void => {
    scheduled = false;
    while (waiting.length > 0 && calls < limits.maxCalls) {
      const batch = waiting.splice(0, maxUrlsPerCall);
      const settle = (verdicts: ReadonlyMap<string, KnownVerdict>): void => {
        for (const { url, resolve } of batch) {
          asking.delete(url);
          resolve(verdicts.get(url) ?? 'unknown');
        }
      };
      if (!breaker.permits()) {
        settle(new Map());
        continue;
      }
      calls += 1;
      void call(batch.map(({ url }) => url)).then((verdicts) => {
        settle(verdicts);
        calls -= 1;
        pump();
      });
    }
  };

  const ask = (url: string): Promise<SafetyVerdict> => {
    if (waiting.length >= limits.maxWaiting) return Promise.resolve('unknown');
    const { promise, resolve } = deferred<SafetyVerdict>();
    waiting.push({ url, resolve });
    asking.set(url, promise);
    if (!scheduled) {
      scheduled = true;
      setImmediate(pump);
    }
    return promise;
  };

  /** `unknown` after the time-out; a late answer still fills the cache. */
  const inTime = async (asked: Promise<SafetyVerdict>[]): Promise<SafetyVerdict[]> => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<SafetyVerdict>((resolve) => {
      timer = setTimeout(() => {
        resolve('unknown');
      }, limits.timeoutMs + graceMs);
    });
    try {
      return await Promise.all(asked.map((verdict) => Promise.race([verdict, late])));
    } finally {
      clearTimeout(timer);
    }
  };

  /**
   * Checks links that were accepted before. It ignores cached verdicts `safe`, and makes its own
   * calls, one after the other, so that no `check` waits for it.
   */
  const recheck: SafetyCheck['check'] = async (urls) => {
    const forms = urls.map(askedForm);
    const verdicts = new Map<string, SafetyVerdict>();
    for (const url of forms) if (cache.get(url) === 'unsafe') verdicts.set(url, 'unsafe');
    const open = [...new Set(forms)].filter((url) => !verdicts.has(url));
    while (open.length > 0 && breaker.permits()) {
      for (const [url, verdict] of await call(open.splice(0, maxUrlsPerCall))) {
        verdicts.set(url, verdict);
      }
    }
    return forms.map((url) => verdicts.get(url) ?? 'unknown');
  };

  const check: SafetyCheck['check'] = async (urls) => {
    const forms = urls.map(askedForm);
    const known = forms.map((url) => cache.get(url));
    const hits = known.filter((verdict) => verdict !== null);
    activity.cache.hit += hits.length;
    activity.cache.miss += known.length - hits.length;
    if (hits.length === known.length) return hits;
    return inTime(
      forms.map((url, index) => {
        const verdict = known[index];
        return verdict ? Promise.resolve(verdict) : (asking.get(url) ?? ask(url));
      }),
    );
  };

  return { activity, check, recheck };
};
