import { addressLookup, type DnsServer } from '../platform/networks/dns.js';
import { guardedPost, type PostOutcome } from '../platform/networks/guarded-request.js';
import { networkGuard } from '../platform/networks/network-guard.js';
import { defaultFeedNames, typesOfNames } from '../../schemas/feed.js';
import type { Webhook } from '../../schemas/folds/webhook.js';
import { parseUrl } from '../../schemas/parse-url.js';
import type { FeedFilter } from '../feed/filter.js';
import { signatureHeaders } from './signature.js';

/** The events that a webhook delivers. */
export const webhookFilter = ({
  account,
  types,
  domain,
}: Pick<Webhook, 'account' | 'types' | 'domain'>): FeedFilter => ({
  account,
  types: typesOfNames(types ?? defaultFeedNames),
  subject: null,
  domain,
});

/** The result of an attempt. */
export interface Attempt {
  /** ISO 8601. */
  readonly at: string;
  /** The status of the response; `null` without one. */
  readonly status: number | null;
  readonly durationMs: number;
  /** Why there was no response. */
  readonly error: string | null;
}

/** An attempt, and when the receiver wants the next one (seconds, or a date); `null` if it did not say. */
export interface AttemptOutcome {
  readonly attempt: Attempt;
  readonly retryAfter: string | null;
}

export const isDelivered = ({ status }: Attempt): boolean =>
  status !== null && status >= 200 && status <= 299;

/** The bodies of a delivery. */
const contentTypes = {
  single: 'application/cloudevents+json',
  batch: 'application/cloudevents-batch+json',
} as const;

/** The body of a batch is an array. */
const contentTypeOf = (body: string): string =>
  body.startsWith('[') ? contentTypes.batch : contentTypes.single;

/** The secrets that sign at a time. */
const liveSecrets = ({ secrets }: Pick<Webhook, 'secrets'>, now: Date): readonly string[] =>
  secrets
    .filter(({ endsAt }) => endsAt === null || now.getTime() < Date.parse(endsAt))
    .map(({ secret }) => secret);

const attemptOf = (at: string, outcome: PostOutcome): AttemptOutcome => {
  const { durationMs } = outcome;
  return outcome.type === 'responded'
    ? {
        attempt: { at, status: outcome.status, durationMs, error: null },
        retryAfter: outcome.retryAfter,
      }
    : { attempt: { at, status: null, durationMs, error: outcome.error }, retryAfter: null };
};

/** The longest look-up of a request (ms), whose 503 is due within 2 s. There may be two: DNS and the hosts file. */
const checkWithinMs = 700;

/** Another version of `tr46` may reject the domain of a stored URL. */
const invalidUrl: PostOutcome = { type: 'failed', error: 'the URL is invalid', durationMs: 0 };

/** Sends deliveries to public addresses, and to those of WEBHOOK_NETWORKS. */
export const createSender = (settings: {
  readonly dnsServers: readonly DnsServer[];
  readonly networks: Parameters<typeof networkGuard>[1];
  /** The timeout of an attempt. Default: 15,000. */
  readonly timeoutMs?: number;
}) => {
  const { dnsServers, networks, timeoutMs } = settings;
  const post = guardedPost(networkGuard(addressLookup(dnsServers), networks));
  const guardOfRequests = networkGuard(addressLookup(dnsServers, checkWithinMs), networks);
  return {
    /** Whether a webhook may have this URL. Each attempt checks it again. */
    async allows(url: string): Promise<boolean> {
      const parsed = parseUrl(url);
      return parsed !== null && (await guardOfRequests(parsed)).type !== 'refused';
    },

    /** Sends a body once. @param id of the delivery */
    async send(
      webhook: Pick<Webhook, 'url' | 'secrets'>,
      id: string,
      body: string,
      {
        signal,
        traceparent,
      }: { readonly signal?: AbortSignal; readonly traceparent?: string | undefined } = {},
    ): Promise<AttemptOutcome> {
      const timestamp = new Date();
      const headers = {
        'Content-Type': contentTypeOf(body),
        'User-Agent': 'Linklog-Webhooks/1',
        ...(traceparent !== undefined && { Traceparent: traceparent }),
        ...signatureHeaders({ id, timestamp, body, secrets: liveSecrets(webhook, timestamp) }),
      };
      const options = {
        ...(timeoutMs !== undefined && { timeoutMs }),
        ...(signal && { signal }),
      };
      const url = parseUrl(webhook.url);
      const outcome = url ? await post(url, headers, body, options) : invalidUrl;
      return attemptOf(timestamp.toISOString(), outcome);
    },
  };
};

export type Sender = ReturnType<typeof createSender>;
