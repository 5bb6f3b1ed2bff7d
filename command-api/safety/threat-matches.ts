import { z } from 'zod';

/** What one call of `threatMatches:find` told. */
export type ThreatMatches =
  | { readonly type: 'answered'; readonly matches: readonly ThreatMatch[] }
  | { readonly type: 'failed'; readonly error: unknown };

export interface ThreatMatch {
  readonly url: string;
  /** How long the match may be held for true, in milliseconds; `null` where it was not said. */
  readonly holdsMs: number | null;
}

export type FindThreats = (urls: readonly string[]) => Promise<ThreatMatches>;

/** The protocol's limit of URLs in one call. */
export const maxUrlsPerCall = 500;

const endpointPath = '/v4/threatMatches:find';

const threatInfo = {
  threatTypes: [
    'MALWARE',
    'SOCIAL_ENGINEERING',
    'UNWANTED_SOFTWARE',
    'POTENTIALLY_HARMFUL_APPLICATION',
  ],
  platformTypes: ['ANY_PLATFORM'],
  threatEntryTypes: ['URL'],
};

/** `300.000s` */
const duration = z
  .string()
  .regex(/^\d+(\.\d+)?s$/)
  .transform((text) => parseFloat(text) * 1_000)
  .nullish()
  // A match counts, whatever is said of how long.
  .catch(null);

const answer = z.object({
  matches: z
    .array(z.object({ threat: z.object({ url: z.string() }), cacheDuration: duration }))
    .optional(),
});

const endpoint = ({ apiKey, url }: { readonly apiKey: string; readonly url: string }): URL => {
  const made = new URL(url);
  if (made.pathname === '/') made.pathname = endpointPath;
  made.searchParams.set('key', apiKey);
  return made;
};

/**
 * Google Safe Browsing v4, Lookup API. `url` is the address of the service, or of the very call when
 * it has a path.
 */
export const createThreatFinder = (options: {
  readonly apiKey: string;
  readonly url: string;
  readonly timeoutMs: number;
}): FindThreats => {
  const address = endpoint(options);
  return async (urls) => {
    try {
      const response = await fetch(address, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({
          client: { clientId: 'linklog', clientVersion: '2' },
          threatInfo: { ...threatInfo, threatEntries: urls.map((url) => ({ url })) },
        }),
        // The key stands in the address: it is sent nowhere else.
        redirect: 'error',
        // Counts until the body is there.
        signal: AbortSignal.timeout(options.timeoutMs),
      });
      if (response.status !== 200) {
        await response.body?.cancel();
        return { type: 'failed', error: new Error(`It answered ${response.status}`) };
      }
      const { matches = [] } = answer.parse(await response.json());
      return {
        type: 'answered',
        matches: matches.map(({ threat, cacheDuration }) => ({
          url: threat.url,
          holdsMs: cacheDuration ?? null,
        })),
      };
    } catch (error) {
      return { type: 'failed', error };
    }
  };
};
