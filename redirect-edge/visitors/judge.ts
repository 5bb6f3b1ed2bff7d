import { hash } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import {
  addressOf,
  forwardedFor,
  networkOf,
  trustedHeader,
  type ProxyTrust,
} from '../../ops/http/client-address.js';
import { namedRequestId } from '../../ops/http/request-id.js';
import { languageOf } from './language.js';
import { referrerOf } from './referrer.js';
import type { ServedLink } from '../redirect/decision.js';
import type { VisitFacts } from './visit-facts.js';
import { agentOf, type Agent } from './agents.js';
import type { Countries } from './countries.js';
import { remember, type Remembered } from './remember.js';
import type { VisitorKeys } from './visitor-keys.js';

/** What tells of the client of a request. */
export interface ClientParts {
  readonly headers: IncomingHttpHeaders;
  /** The address at the other end of the connection; empty where it is gone. */
  readonly peer: string;
}

export const partsOf = ({ headers, socket }: IncomingMessage): ClientParts => ({
  headers,
  peer: addressOf(socket),
});

/** A client as all of its visits record it while it sends the same headers. */
export interface Visitor extends Agent, Pick<VisitFacts, 'country' | 'referrer' | 'language'> {
  readonly userAgent: string;
  /** Empty where it is not known, or not to be told. */
  readonly network: string;
  /** Where the requests name one. */
  readonly requestId: string | undefined;
}

/** Judges who makes a visit, before anything is written. Does no I/O. Times are milliseconds since the epoch. */
export interface Judge {
  visitorOf(request: ClientParts, now: number): Visitor;
  /** The same of many at once, which is faster. */
  visitorsOf(requests: readonly ClientParts[], now: number): Visitor[];
  /** `query`: the request's, without the question mark. */
  factsOf(
    visitor: Visitor,
    link: Pick<ServedLink, 'code' | 'sequence'>,
    query: string,
    now: number,
  ): VisitFacts;
}

/** A query with the name `qr`: QR codes that are marked lead there. */
const qr = /(?:^|&)qr(?:[=&]|$)/;

/** Addresses, and headers that tell them, in memory alone, for a minute: some 2 MB, or 7 of long headers. */
const maxAddresses = 10_000;
const forgetAddressesMs = 60_000;

/** Where a visitor comes from. */
type Place = Pick<Visitor, 'country' | 'network'>;

const nowhere: Place = { country: null, network: '' };

/** Whether a client sends neither DNT nor Sec-GPC. */
const tellsOfItself = (headers: IncomingHttpHeaders): boolean =>
  headers['dnt'] !== '1' && headers['sec-gpc'] !== '1';

/** 96 bits in base64url. */
const visitorLength = 16;

/**
 * What visits of one visitor have in common: of one link on one day, and of no other. A key before the
 * text is safe with SHA-256 where only a part of the hash is told; the key has a fixed length, and
 * neither network nor code has a space in it.
 */
const hashOf = (key: string, network: string, code: string, userAgent: string): string =>
  hash('sha256', `${key}${network} ${code} ${userAgent}`, 'base64url').slice(0, visitorLength);

export const createJudge = (deps: {
  readonly countries: Countries;
  readonly keys: Pick<VisitorKeys, 'of'>;
  readonly isOwnHost: (url: URL) => boolean;
  readonly trustedProxies: ProxyTrust;
}): Judge => {
  const { countries, keys, isOwnHost, trustedProxies } = deps;
  /** `null` where the text is a header that tells none. */
  const placeIn = (text: string): Place | null => {
    const address = text === '' ? '' : forwardedFor(text, trustedProxies);
    return address === null ? null : { country: countries(address), network: networkOf(address) };
  };
  const newPlaces = () => remember(placeIn, maxAddresses);
  let places = newPlaces();
  let rememberedSince = 0;
  const freshPlaces = (now: number): Remembered<Place | null> => {
    // The clock may go back.
    if (Math.abs(now - rememberedSince) >= forgetAddressesMs) {
      places = newPlaces();
      rememberedSince = now;
    }
    return places;
  };
  /** What tells of a client's place: a header, or an address as it is; empty where nothing may. */
  const placeTextOf = ({ headers, peer }: ClientParts): string =>
    tellsOfItself(headers) ? (trustedHeader(headers, peer, trustedProxies) ?? peer) : '';
  const referrerIn = remember((header) => referrerOf(header, isOwnHost));

  const visitorAt = ({ headers, peer }: ClientParts, told: Place | null): Visitor => {
    const userAgent = headers['user-agent'] ?? '';
    const { bot, browser, os, device, isOffice } = agentOf(userAgent);
    // A proxy's header that tells no address tells nothing.
    const { country, network } = told ?? places(peer) ?? nowhere;
    const { referer } = headers;
    const isTold = tellsOfItself(headers);
    const referrer = isTold && referer !== undefined ? referrerIn(referer) : null;
    const language = isTold ? languageOf(headers['accept-language'] ?? '') : null;
    const requestId = namedRequestId(headers['x-request-id']);
    // Field by field: spreading two objects costs as much as the rest of the request.
    return {
      bot,
      browser,
      os,
      device,
      isOffice,
      country,
      network,
      referrer,
      language,
      userAgent,
      requestId,
    };
  };

  return {
    visitorOf(request, now) {
      return visitorAt(request, freshPlaces(now)(placeTextOf(request)));
    },
    visitorsOf(requests, now) {
      const found = freshPlaces(now).all(requests.map(placeTextOf));
      return requests.map((request, index) => visitorAt(request, found[index] ?? null));
    },
    factsOf(visitor, { code, sequence: version }, query, now) {
      const { bot, country, referrer, browser, os, device, language, network, userAgent } = visitor;
      const key = network === '' ? null : keys.of(now);
      return {
        bot,
        country,
        referrer,
        browser,
        os,
        device,
        language,
        visitor: key === null ? null : hashOf(key, network, code, userAgent),
        trigger: query !== '' && qr.test(query) ? 'qr' : 'link',
        version,
      };
    },
  };
};
