import { z } from 'zod';

export interface ThreatMatch {
  readonly url: string;
  /** How long the match is valid (ms); `null` if the service returned no duration. */
  readonly holdsMs: number | null;
}

/** One call of `threatMatches:find`. @throws errors of `fetch`, and Error for an invalid response */
export type FindThreats = (urls: readonly string[]) => Promise<readonly ThreatMatch[]>;

/** The protocol's limit of URLs per call. */
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
  // An invalid duration does not invalidate the match.
  .catch(null);

const findResponse = z.object({
  matches: z
    .array(z.object({ threat: z.object({ url: z.string() }), cacheDuration: duration }))
    .optional(),
});

const endpoint = ({ apiKey, url }: { readonly apiKey: string; readonly url: string }): URL => {
  const address = new URL(url);
  if (address.pathname === '/') address.pathname = endpointPath;
  address.searchParams.set('key', apiKey);
  return address;
};

/**
 * Google Safe Browsing v4, Lookup API. `url` is the address of the service or, with a path, of the endpoint.
 */
export const createThreatFinder = (options: {
  readonly apiKey: string;
  readonly url: string;
  readonly timeoutMs: number;
}): FindThreats => {
  const address = endpoint(options);
  /** The request is idempotent, so it may be repeated. */
  const post = async (body: string, signal: AbortSignal, retry: boolean): Promise<Response> => {
    try {
      return await fetch(address, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body,
        // The URL contains the key, so redirects are not followed.
        redirect: 'manual',
        signal,
      });
    } catch (error) {
      // The service may close an idle connection while the next request starts.
      if (retry && !signal.aborted) return post(body, signal, false);
      throw error;
    }
  };

  return async (urls) => {
    const body = JSON.stringify({
      client: { clientId: 'linklog', clientVersion: '2' },
      threatInfo: { ...threatInfo, threatEntries: urls.map((url) => ({ url })) },
    });
    // The deadline includes the body of the response.
    const response = await post(body, AbortSignal.timeout(options.timeoutMs), true);
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new Error(`Safe Browsing returned status ${response.status}`);
    }
    const { matches = [] } = findResponse.parse(await response.json());
    return matches.map(({ threat, cacheDuration = null }) => {
      return { url: threat.url, holdsMs: cacheDuration };
    });
  };
};
