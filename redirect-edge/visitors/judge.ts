import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import {
  clientAddress,
  networkOf,
  type ProxyTrust,
} from '../../ops/platform/http/client-address.js';
import { languageOf } from '../domain/language.js';
import { referrerOf } from '../domain/referrer.js';
import type { ServedLink } from '../domain/visit.js';
import type { VisitFacts } from '../domain/visit-facts.js';
import { agentOf } from './agents.js';
import type { Countries } from './countries.js';
import { remember } from './remember.js';
import type { VisitorKeys } from './visitor-keys.js';

/** What is looked at of a request. */
export type VisitRequestParts = Pick<IncomingMessage, 'headers' | 'socket' | 'url'>;

/** Judges who makes a visit, before anything is written. Does no I/O. */
export type Judge = (
  request: VisitRequestParts,
  link: Pick<ServedLink, 'code' | 'sequence'>,
  /** Milliseconds since the epoch. */
  now: number,
) => VisitFacts;

const qr = /(?:^|&)qr(?:[=&]|$)/;

/** Whether the query has the name `qr`: QR codes that are marked lead there. */
const isMarked = (url: string): boolean => {
  const start = url.indexOf('?');
  return start !== -1 && qr.test(url.slice(start + 1));
};

/** Addresses that are remembered, in memory alone: some 2 MB, for a minute. */
const maxAddresses = 10_000;
const forgetAddressesMs = 60_000;

/** 96 bits in base64url. */
const visitorLength = 16;

/**
 * What visits of one visitor have in common: of one link on one day, and of no other. A key before the
 * text is safe with SHA-256 where only a part of the hash is told; the key has a fixed length, and
 * neither network nor code has a space in it.
 */
const visitorOf = (key: string, network: string, code: string, userAgent: string): string =>
  hash('sha256', `${key}${network} ${code} ${userAgent}`, 'base64url').slice(0, visitorLength);

export const createJudge = (deps: {
  readonly countries: Countries;
  readonly keys: Pick<VisitorKeys, 'of'>;
  readonly isOwnHost: (url: URL) => boolean;
  readonly trustedProxies: ProxyTrust;
}): Judge => {
  const { countries, keys, isOwnHost, trustedProxies } = deps;
  const rememberPlaces = () =>
    remember(
      (address) => ({ country: countries(address), network: networkOf(address) }),
      maxAddresses,
    );
  let places = rememberPlaces();
  let rememberedSince = 0;
  const referrer = remember((header) => referrerOf(header, isOwnHost));

  return ({ headers, socket, url = '' }, { code, sequence: version }, now) => {
    const userAgent = headers['user-agent'] ?? '';
    const { bot, browser, os, device } = agentOf(userAgent);
    const trigger = isMarked(url) ? 'qr' : 'link';
    if (headers['dnt'] === '1' || headers['sec-gpc'] === '1') {
      const untold = { country: null, referrer: null, language: null, visitor: null };
      return { bot, browser, os, device, ...untold, trigger, version };
    }
    const address = clientAddress({ headers, socket }, trustedProxies);
    // The clock may go back.
    if (Math.abs(now - rememberedSince) >= forgetAddressesMs) {
      places = rememberPlaces();
      rememberedSince = now;
    }
    const { country, network } = places(address);
    const key = keys.of(now);
    return {
      bot,
      country,
      referrer: headers.referer === undefined ? null : referrer(headers.referer),
      browser,
      os,
      device,
      language: languageOf(headers['accept-language'] ?? ''),
      visitor: key === null || address === '' ? null : visitorOf(key, network, code, userAgent),
      trigger,
      version,
    };
  };
};
