import { createHash } from 'node:crypto';
import { BoundedMap } from '../../ops/platform/collections.js';
import { createCircuitBreaker, type BreakerState } from '../../ops/platform/concurrency/retry.js';
import { DeadlinePassed, withinDeadline } from '../../ops/platform/concurrency/deadline.js';
import { deferred } from '../../ops/platform/concurrency/deferred.js';
import type { Logger } from '../../ops/platform/logging.js';
import type { SafetyCheck, SafetyVerdict } from './safety-check.js';
import { maxUrlsPerCall, type FindThreats, type ThreatMatch } from './threat-matches.js';
import { parseDestination, parseUrl } from '../../schemas/parse-url.js';

export const safeBrowsingLimits = {
  /** The deadline of a check (ms); then the verdict is `unknown`. */
  timeoutMs: 2_000,
  maxCalls: 4,
  maxWaiting: 5_000,
  maxCached: 50_000,
  /** How long a verdict `safe` is cached (ms). */
  safeMs: 300_000,
  /** How long a verdict `unsafe` is cached (ms), unless the service returns a duration. */
  unsafeMs: 300_000,
  /** Look-ups of a root key in an hour; later ones are `unknown`. */
  hourlyUrls: 10_000,
  failures: 5,
  pauseMs: 5_000,
};

export type SafeBrowsingLimits = typeof safeBrowsingLimits;

export type SafeBrowsing = ReturnType<typeof createSafeBrowsing>;

interface Waiting {
  readonly url: string;
  readonly resolve: (verdict: SafetyVerdict) => void;
}

type KnownVerdict = 'safe' | 'unsafe';

/** Digests have a fixed length, so the number of cached verdicts bounds their memory. */
const digest = (url: string): string => createHash('sha256').update(url).digest('base64');

const hourMs = 3_600_000;

/** Added to the deadline of a check (ms), so that the call's own deadline passes first. */
const graceMs = 50;

/** The form in which the service compares URLs: without the fragment. */
const comparedForm = (text: string): string => {
  const url = parseDestination(text);
  url.hash = '';
  const host = url.hostname.replace(/(?<!\.)\.+$/, '');
  if (host !== '') url.hostname = host;
  return url.href;
};

const sameForm = (text: string): string => (parseUrl(text) ? comparedForm(text) : text);

/** The matches by URL. @throws Error if a match is for another URL */
const matchesByUrl = (
  urls: readonly string[],
  matches: readonly ThreatMatch[],
): ReadonlyMap<string, ThreatMatch> => {
  const found = new Map(matches.map((match) => [sameForm(match.url), match]));
  const requested = new Set(urls);
  // One of the URLs is unsafe, but it is unknown which.
  if (![...found.keys()].every((url) => requested.has(url))) {
    throw new Error('Safe Browsing returned a match for a URL that was not requested');
  }
  return found;
};

/**
 * Queries a reputation service with few calls: verdicts are cached, equal URLs share a query, and the URLs of an
 * event-loop tick share a call. While the service is unavailable, the verdict is `unknown`.
 */
export const createSafeBrowsing = (options: {
  readonly findThreats: FindThreats;
  readonly logger: Logger;
  readonly limits?: SafeBrowsingLimits;
  /** A monotonic clock (ms). */
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
  const verdicts = new BoundedMap<
    string,
    { readonly verdict: KnownVerdict; readonly until: number }
  >(limits.maxCached);
  const cachedVerdict = (url: string): KnownVerdict | null => {
    const cached = verdicts.get(digest(url));
    return cached && now() < cached.until ? cached.verdict : null;
  };
  const breaker = createCircuitBreaker({
    failures: limits.failures,
    pauseMs: limits.pauseMs,
    now,
    onChange: (state) => {
      activity.breaker = state;
      logger.warn({ state }, 'circuit breaker of the web safety service changed');
    },
  });
  const pending = new Map<string, Promise<SafetyVerdict>>();
  const waiting: Waiting[] = [];
  /** Look-ups by root key in the current hour. */
  const lookUps = new Map<string, number>();
  let hourEnds = now() + hourMs;
  let calls = 0;
  let scheduled = false;

  /** Checks up to `maxUrlsPerCall` URLs. @returns no verdicts if the call fails */
  const call = async (urls: readonly string[]): Promise<ReadonlyMap<string, KnownVerdict>> => {
    let matches: ReadonlyMap<string, ThreatMatch>;
    try {
      matches = matchesByUrl(urls, await findThreats(urls));
    } catch (err) {
      logger.warn({ err, urls: urls.length }, 'web safety service is unavailable');
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
        const forMs = match ? (match.holdsMs ?? limits.unsafeMs) : limits.safeMs;
        verdicts.set(digest(url), { verdict, until: now() + forMs });
        return [url, verdict];
      }),
    );
  };

  const startCalls = (): void => {
    scheduled = false;
    while (waiting.length > 0 && calls < limits.maxCalls) {
      const batch = waiting.splice(0, maxUrlsPerCall);
      const resolveBatch = (found: ReadonlyMap<string, KnownVerdict>): void => {
        for (const { url, resolve } of batch) {
          pending.delete(url);
          resolve(found.get(url) ?? 'unknown');
        }
      };
      if (!breaker.permits()) {
        resolveBatch(new Map());
        continue;
      }
      calls += 1;
      void call(batch.map(({ url }) => url)).then((found) => {
        resolveBatch(found);
        calls -= 1;
        startCalls();
      });
    }
  };

  const request = (url: string): Promise<SafetyVerdict> => {
    if (waiting.length >= limits.maxWaiting) return Promise.resolve('unknown');
    const { promise, resolve } = deferred<SafetyVerdict>();
    waiting.push({ url, resolve });
    pending.set(url, promise);
    if (!scheduled) {
      scheduled = true;
      setImmediate(startCalls);
    }
    return promise;
  };

  /** `unknown` after the deadline. A late verdict still fills the cache. */
  const inTime = async (verdict: Promise<SafetyVerdict>): Promise<SafetyVerdict> => {
    try {
      return await withinDeadline(limits.timeoutMs + graceMs, () => verdict);
    } catch (error) {
      if (error instanceof DeadlinePassed) return 'unknown';
      throw error;
    }
  };

  /**
   * Checks existing links. It ignores cached verdicts `safe`, and has its own sequential calls, so that no `check` waits for
   * it.
   */
  const recheck: SafetyCheck['check'] = async (urls) => {
    const forms = urls.map(comparedForm);
    const found = new Map<string, SafetyVerdict>();
    for (const url of forms) if (cachedVerdict(url) === 'unsafe') found.set(url, 'unsafe');
    const open = [...new Set(forms)].filter((url) => !found.has(url));
    while (open.length > 0 && breaker.permits()) {
      for (const [url, verdict] of await call(open.splice(0, maxUrlsPerCall))) {
        found.set(url, verdict);
      }
    }
    return forms.map((url) => found.get(url) ?? 'unknown');
  };

  /** Whether the root key may look up more URLs. Counts them. */
  const mayLookUp = (payer: string, urls: number): boolean => {
    if (now() >= hourEnds) {
      lookUps.clear();
      hourEnds = now() + hourMs;
    }
    const count = (lookUps.get(payer) ?? 0) + urls;
    if (count > limits.hourlyUrls) return false;
    lookUps.set(payer, count);
    return true;
  };

  const check: SafetyCheck['check'] = async (urls, payer) => {
    const forms = urls.map(comparedForm);
    const known = forms.map(cachedVerdict);
    const hits = known.filter((verdict) => verdict !== null);
    activity.cache.hit += hits.length;
    activity.cache.miss += known.length - hits.length;
    if (hits.length === known.length) return hits;
    const requested = new Set(forms.filter((url, index) => !known[index] && !pending.has(url)));
    if (payer !== undefined && !mayLookUp(payer, requested.size)) {
      return known.map((verdict) => verdict ?? 'unknown');
    }
    return Promise.all(
      forms.map(async (url, index) => known[index] ?? inTime(pending.get(url) ?? request(url))),
    );
  };

  return { activity, check, recheck };
};
