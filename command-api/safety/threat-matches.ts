import { z } from 'zod';

export interface ThreatMatch {
  readonly url: string;
  /** How long the match may be held for true, in milliseconds; `null` where it was not said. */
  readonly holdsMs: number | null;
}

/** One call of `threatMatches:find`. @throws what `fetch` threw; Error where the answer is of no use */
export type FindThreats = (urls: readonly string[]) => Promise<readonly ThreatMatch[]>;

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
  /** The question changes nothing there, so it may be asked twice. */
  const post = async (body: string, signal: AbortSignal, retry: boolean): Promise<Response> => {
    try {
      return await fetch(address, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body,
        // The key stands in the address: it is sent nowhere else.
        redirect: 'manual',
        signal,
      });
    } catch (error) {
      // A connection kept from an earlier call may be closed by the service as the next one begins.
      if (retry && !signal.aborted) return post(body, signal, false);
      throw error;
    }
  };

  return async (urls) => {
    const body = JSON.stringify({
      client: { clientId: 'linklog', clientVersion: '2' },
      threatInfo: { ...threatInfo, threatEntries: urls.map((url) => ({ url })) },
    });
    // The time counts until the answer's body is there.
    const response = await post(body, AbortSignal.timeout(options.timeoutMs), true);
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new Error(`It answered ${response.status}`);
    }
    const { matches = [] } = answer.parse(await response.json());
    return matches.map(({ threat, cacheDuration = null }) => {
      return { url: threat.url, holdsMs: cacheDuration };
    });
  };
};
