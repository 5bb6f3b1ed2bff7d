import {
  createCircuitBreaker,
  type BreakerState,
} from '../../ops/platform/concurrency/circuit-breaker.js';
import type { Logger } from '../../ops/platform/logging.js';
import type { SafetyCheck, SafetyVerdict } from './safety-check.js';
import { maxUrlsPerCall, type FindThreats, type ThreatMatch } from './threat-matches.js';
import { createVerdictCache } from './verdict-cache.js';

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

/** Counters since the start, and the breaker's state. */
export interface SafeBrowsingActivity {
  readonly cache: { readonly hit: number; readonly miss: number };
  readonly calls: { readonly answered: number; readonly failed: number };
  readonly breaker: BreakerState;
}

export interface SafeBrowsing extends SafetyCheck {
  readonly activity: SafeBrowsingActivity;
  /**
   * Checks links that were accepted before. It ignores cached verdicts `safe`, and makes its own
   * calls, one after the other, so that no `check` waits for it.
   */
  readonly recheck: SafetyCheck['check'];
}

interface Waiting {
  readonly url: string;
  readonly resolve: (verdict: SafetyVerdict) => void;
}

/** Milliseconds added to a check's time-out, so that the call's own time-out comes first. */
const graceMs = 50;

/** The form in which the service compares URLs: without the fragment. */
const askedForm = (text: string): string => {
  const url = new URL(text);
  url.hash = '';
  const host = url.hostname.replace(/(?<!\.)\.+$/, '');
  if (host !== '') url.hostname = host;
  return url.href;
};

const sameForm = (text: string): string => (URL.canParse(text) ? askedForm(text) : text);

/** The matches by URL; `null` if the answer names a URL that was not asked for. */
const matchesByUrl = (
  urls: readonly string[],
  matches: readonly ThreatMatch[],
): ReadonlyMap<string, ThreatMatch> | null => {
  const found = new Map(matches.map((match) => [sameForm(match.url), match]));
  const asked = new Set(urls);
  // One of the URLs was found, and the answer does not tell which.
  return [...found.keys()].every((url) => asked.has(url)) ? found : null;
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
}): SafeBrowsing => {
  const { findThreats, logger, limits = safeBrowsingLimits } = options;
  const now = options.now ?? (() => performance.now());
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

  const callFor = async (batch: readonly Waiting[]): Promise<void> => {
    const urls = batch.map(({ url }) => url);
    const answer = await findThreats(urls);
    const matches = answer.type === 'answered' ? matchesByUrl(urls, answer.matches) : null;
    if (matches) {
      activity.calls.answered += 1;
      breaker.succeeded();
    } else {
      const err =
        answer.type === 'failed' ? answer.error : new Error('It told of URLs not asked for');
      logger.warn({ err, urls: urls.length }, 'the web safety service gave no answer');
      activity.calls.failed += 1;
      breaker.failed();
    }
    for (const { url, resolve } of batch) {
      const match = matches?.get(url);
      if (match) cache.set(url, 'unsafe', match.holdsMs ?? limits.unsafeMs);
      else if (matches) cache.set(url, 'safe', limits.safeMs);
      resolve(match ? 'unsafe' : matches ? 'safe' : 'unknown');
    }
  };

  const pump = (): void => {
    scheduled = false;
    while (waiting.length > 0) {
      if (calls >= limits.maxCalls) return;
      const batch = waiting.splice(0, maxUrlsPerCall);
      if (!breaker.permits()) {
        for (const { resolve } of batch) resolve('unknown');
        continue;
      }
      calls += 1;
      void callFor(batch).finally(() => {
        calls -= 1;
        pump();
      });
    }
  };

  const ask = (url: string): Promise<SafetyVerdict> => {
    if (waiting.length >= limits.maxWaiting) return Promise.resolve('unknown');
    const asked = new Promise<SafetyVerdict>((resolve) => {
      waiting.push({
        url,
        resolve: (verdict) => {
          asking.delete(url);
          resolve(verdict);
        },
      });
    });
    asking.set(url, asked);
    if (!scheduled) {
      scheduled = true;
      setImmediate(pump);
    }
    return asked;
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

  const recheck = async (urls: readonly string[]): Promise<readonly SafetyVerdict[]> => {
    const forms = urls.map(askedForm);
    const verdicts = new Map<string, SafetyVerdict>();
    for (const url of forms) if (cache.get(url) === 'unsafe') verdicts.set(url, 'unsafe');
    const open = [...new Set(forms)].filter((url) => !verdicts.has(url));
    while (open.length > 0 && breaker.permits()) {
      await callFor(
        open.splice(0, maxUrlsPerCall).map((url) => ({
          url,
          resolve: (verdict) => verdicts.set(url, verdict),
        })),
      );
    }
    return forms.map((url) => verdicts.get(url) ?? 'unknown');
  };

  const check = async (urls: readonly string[]): Promise<readonly SafetyVerdict[]> => {
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
