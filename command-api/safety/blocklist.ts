import { parseList } from '../../ops/platform/files/list-file.js';
import { canonicalUrl, type CanonicalUrl } from './canonical-url.js';

export interface Blocklist {
  readonly entries: number;
  has(url: string): boolean;
}

export type ParsedBlocklist =
  | { readonly type: 'parsed'; readonly blocklist: Blocklist }
  | { readonly type: 'malformed'; readonly line: number; readonly entry: string };

type Entry =
  | { readonly type: 'host'; readonly host: string }
  | { readonly type: 'prefix'; readonly prefix: CanonicalUrl };

const httpScheme = /^https?:\/\//i;

const parseEntry = (text: string): Entry | null => {
  const written = text.replace(httpScheme, '').replace(/^(\*\.|\.)(?=.)/, '');
  if (/\s|^[/?#]|:\/\/|@/.test(written) || !URL.canParse(`http://${written}`)) return null;
  const prefix = canonicalUrl(new URL(`http://${written}`));
  if (prefix.host === '') return null;
  const isHost = !/[/?]/.test(written) && prefix.port === '';
  return isHost ? { type: 'host', host: prefix.host } : { type: 'prefix', prefix };
};

/** The host and all that it is a subdomain of. */
function* domainsOf(host: string): Generator<string> {
  yield host;
  // The parts of an address are no domains.
  if (/^\[|^[\d.]+$/.test(host)) return;
  for (let dot = host.indexOf('.'); dot !== -1; dot = host.indexOf('.', dot + 1)) {
    yield host.slice(dot + 1);
  }
}

/**
 * A list of hosts and URL prefixes, one a line. `evil.example` covers its subdomains, every port and
 * path; `evil.example/login` that very host and what begins so; `evil.example:8080` that port. The
 * scheme of an entry does not count.
 */
export const parseBlocklist = (text: string): ParsedBlocklist => {
  const hosts = new Set<string>();
  const prefixes = new Map<string, CanonicalUrl[]>();
  const list = parseList(text);
  for (const { text: written, line } of list) {
    const entry = parseEntry(written);
    if (!entry) return { type: 'malformed', line, entry: written };
    if (entry.type === 'host') {
      hosts.add(entry.host);
      continue;
    }
    const same = prefixes.get(entry.prefix.host);
    if (same) same.push(entry.prefix);
    else prefixes.set(entry.prefix.host, [entry.prefix]);
  }
  const blocklist: Blocklist = {
    entries: list.length,
    has(url) {
      const { host, port, path } = canonicalUrl(new URL(url));
      for (const domain of domainsOf(host)) if (hosts.has(domain)) return true;
      const found = prefixes.get(host)?.some((prefix) => {
        return (prefix.port === '' || prefix.port === port) && path.startsWith(prefix.path);
      });
      return found ?? false;
    },
  };
  return { type: 'parsed', blocklist };
};
