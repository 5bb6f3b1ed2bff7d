import { hash } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import {
  addressOf,
  forwardedFor,
  networkOf,
  trustedHeader,
  type ProxyTrust,
} from '../../ops/http/client-address.js';
import { namedRequestId } from '../../ops/http/request-span.js';
import type { ServedLink } from '../redirect/decision.js';
import { memoize, referrerOf, type VisitData } from '../../ops/visitors/visit-data.js';
import { agentOf, type Agent } from '../../ops/visitors/agents.js';
import type { Countries } from './countries.js';
import type { VisitorKeys } from './visitor-keys.js';
import { languageOfSubtag } from '../../schemas/languages.js';

export interface ClientParts {
  readonly headers: IncomingHttpHeaders;
  /** The remote address of the connection; empty if the connection is closed. */
  readonly peer: string;
}

export const partsOf = ({ headers, socket }: IncomingMessage): ClientParts => ({
  headers,
  peer: addressOf(socket),
});

/** The properties of a client that all its visits have while it sends the same headers. */
export interface Visitor extends Pick<VisitData, 'country' | 'referrer' | 'language'> {
  readonly agent: Agent;
  /** If not, a visit has no country, referrer, language or visitor; rules may use country and language. */
  readonly permitsTracking: boolean;
  readonly userAgent: string;
  /** For rules only; empty if it is unknown. */
  readonly address: string;
  /** Empty if it is unknown or the client opts out of tracking. */
  readonly network: string;
  readonly requestId: string | undefined;
}

/** Determines the data of visits, without I/O. Times are milliseconds since the epoch. */
export interface VisitAnalyzer {
  visitorOf(client: ClientParts, now: number): Visitor;
  /** The data of a visit without `target` and `campaign`. @param query of the request, without the question mark */
  dataOf(
    visitor: Visitor,
    link: Pick<ServedLink, 'subject' | 'sequence'>,
    query: string,
    now: number,
  ): VisitData;
}

/** A query with the parameter `qr`, which marked QR codes contain. */
const qr = /(?:^|&)qr(?:[=&]|$)/;

export const hasQrMark = (query: string): boolean => query !== '' && qr.test(query);

const speculative = /\b(?:prefetch|prerender|preview)\b/i;

type Value = string | readonly string[] | undefined;

const isSpeculative = (value: Value): boolean =>
  value !== undefined && speculative.test(String(value));

/** Whether a browser prefetches: after an error, it requests the link again when the user follows it. */
export const isPrefetch = (headers: Readonly<Record<string, Value>>): boolean =>
  // Not a loop over a list of names, which takes ten times as long.
  isSpeculative(headers['sec-purpose']) ||
  isSpeculative(headers['purpose']) ||
  isSpeculative(headers['x-purpose']) ||
  isSpeculative(headers['x-moz']);

/**
 * Addresses and headers with addresses in the cache, which is dropped every minute: 2 MB, or 7 MB with long headers.
 */
const maxAddresses = 10_000;
const addressesLifeMs = 60_000;

/** The result of an address look-up. */
type Origin = Pick<Visitor, 'address' | 'country' | 'network'>;

const unknownOrigin: Origin = { address: '', country: null, network: '' };

/** Whether a client sends neither DNT nor Sec-GPC, which opt out of tracking. */
const permitsTracking = (headers: IncomingHttpHeaders): boolean =>
  headers['dnt'] !== '1' && headers['sec-gpc'] !== '1';

/** One language without a weight, or the first of several: no other one can have a higher weight. */
const preferred = /^[ \t]*([a-z]{2,3})(?:-[a-z\d-]+)?[ \t]*(?:,|$)/i;

/** A range of an `Accept-Language` header (RFC 9110): primary subtag or `*`, and weight. */
const range =
  /^[ \t]*(\*|[a-z]{1,8})(?:-[a-z\d-]+)?[ \t]*(?:;[ \t]*q=([01](?:\.\d{0,3})?)[ \t]*)?$/i;

/** Browsers send a few. */
const maxRanges = 50;

/** The language with the highest weight in an `Accept-Language` header, the first of equal ones; `null`: unknown. */
export const languageOf = (header: string): string | null => {
  const first = preferred.exec(header)?.[1];
  if (first !== undefined) return languageOfSubtag(first.toLowerCase());
  let best = '';
  let highest = 0;
  for (const part of header.split(',', maxRanges)) {
    const [, subtag = '', weight = '1'] = range.exec(part) ?? [];
    if (subtag === '' || Number(weight) <= highest) continue;
    best = subtag;
    highest = Number(weight);
  }
  return languageOfSubtag(best.toLowerCase());
};

/** 96 bits in base64url. */
const visitorLength = 16;

/**
 * The visitor hash: equal for the visits of one visitor to one link on one day. A key prefix is safe with SHA-256 if
 * only a part of the hash is published. The key has a fixed length, and network and subject contain no space.
 */
const hashOf = (key: string, network: string, subject: string, userAgent: string): string =>
  hash('sha256', `${key}${network} ${subject} ${userAgent}`, 'base64url').slice(0, visitorLength);

export const createVisitAnalyzer = (deps: {
  readonly countries: Countries;
  readonly keys: Pick<VisitorKeys, 'of'>;
  readonly isOwnHost: (url: URL) => boolean;
  readonly trustedProxies: ProxyTrust;
}): VisitAnalyzer => {
  const { countries, keys, isOwnHost, trustedProxies } = deps;
  /** `null` if the text is a header without an address. */
  const originIn = (text: string): Origin | null => {
    const address = text === '' ? '' : forwardedFor(text, trustedProxies);
    return address === null
      ? null
      : { address, country: countries(address), network: networkOf(address) };
  };
  const createCache = () => memoize(originIn, maxAddresses);
  let origins = createCache();
  let cachedSince = 0;
  /** The header or address that determines a client's origin. */
  const addressTextOf = ({ headers, peer }: ClientParts): string =>
    trustedHeader(headers, peer, trustedProxies) ?? peer;
  const originOf = (client: ClientParts, now: number): Origin => {
    // The clock may go back.
    if (Math.abs(now - cachedSince) >= addressesLifeMs) {
      origins = createCache();
      cachedSince = now;
    }
    // A header of a proxy without an address is ignored.
    return origins(addressTextOf(client)) ?? origins(client.peer) ?? unknownOrigin;
  };
  const referrerIn = memoize((header) => referrerOf(header, isOwnHost));

  return {
    visitorOf(client, now) {
      const { headers } = client;
      const userAgent = headers['user-agent'] ?? '';
      const { address, country, network } = originOf(client, now);
      const { referer } = headers;
      const isPermitted = permitsTracking(headers);
      const referrer = isPermitted && referer !== undefined ? referrerIn(referer) : null;
      const language = languageOf(headers['accept-language'] ?? '');
      const requestId = namedRequestId(headers['x-request-id']);
      return {
        agent: agentOf(userAgent),
        permitsTracking: isPermitted,
        address,
        country,
        network: isPermitted ? network : '',
        referrer,
        language,
        userAgent,
        requestId,
      };
    },
    dataOf(visitor, { subject, sequence: version }, query, now) {
      const { agent, country, referrer, language, network, userAgent } = visitor;
      const isPermitted = visitor.permitsTracking;
      const key = network === '' ? null : keys.of(now);
      return {
        country: isPermitted ? country : null,
        referrer,
        language: isPermitted ? language : null,
        visitor: key === null ? null : hashOf(key, network, subject, userAgent),
        trigger: hasQrMark(query) ? 'qr' : 'link',
        version,
        target: null,
        code: null,
        campaign: null,
        // Last: in Node 20 each property after a spread costs a microsecond.
        ...agent.data,
      };
    },
  };
};
