import { createHash } from 'node:crypto';

export type KnownVerdict = 'safe' | 'unsafe';

/** Digests have a fixed length, so `maxEntries` bounds the memory. */
const digest = (url: string): string => createHash('sha256').update(url).digest('base64');

/** Caches verdicts until they expire; evicts the oldest if the cache is full. */
export const createVerdictCache = (options: {
  readonly maxEntries: number;
  readonly now: () => number;
}) => {
  const { maxEntries, now } = options;
  const entries = new Map<string, { readonly verdict: KnownVerdict; readonly until: number }>();
  return {
    get(url: string): KnownVerdict | null {
      const name = digest(url);
      const entry = entries.get(name);
      if (!entry) return null;
      if (now() < entry.until) return entry.verdict;
      entries.delete(name);
      return null;
    },
    set(url: string, verdict: KnownVerdict, forMs: number): void {
      const name = digest(url);
      // Maps are in insertion order, so the first entry is the oldest.
      entries.delete(name);
      entries.set(name, { verdict, until: now() + forMs });
      if (entries.size <= maxEntries) return;
      const oldest = entries.keys().next();
      if (!oldest.done) entries.delete(oldest.value);
    },
  };
};
