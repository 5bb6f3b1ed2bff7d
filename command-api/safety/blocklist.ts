import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import type { Logger } from '../../ops/platform/logging.js';
import type { SafetyCheck } from './safety-check.js';
import { ConfigError } from '../../ops/platform/errors.js';
import { canonicalHost, canonicalUrl, type CanonicalUrl } from './canonical-url.js';
import { parseList } from '../../ops/platform/parse.js';
import { destinationPattern } from '../../schemas/http/link-fields.js';
import { maxHostLength, parseDestination, parseUrl } from '../../schemas/parse-url.js';

export interface Blocklist {
  readonly entries: number;
  has(url: string): boolean;
}

type ParsedBlocklist =
  | { readonly type: 'parsed'; readonly blocklist: Blocklist }
  | { readonly type: 'malformed'; readonly line: number; readonly entry: string };

/** A host with its subdomains, or a prefix of URLs. */
interface Entry {
  readonly isHost: boolean;
  readonly prefix: CanonicalUrl;
}

const httpScheme = /^https?:\/\//i;

const parseEntry = (text: string): Entry | null => {
  const written = text.replace(httpScheme, '').replace(/^(\*\.|\.)(?=.)/, '');
  const url = `http://${written}`;
  const parsed = parseUrl(url);
  if (/\s|:\/\//.test(written) || !destinationPattern.test(url) || parsed === null) return null;
  const prefix = canonicalUrl(parsed);
  if (prefix.host === '' || prefix.host.length > maxHostLength) return null;
  return { isHost: !/[/?]/.test(written) && prefix.port === '', prefix };
};

/**
 * The host and its parent domains, without names of more than 253 characters, which lists cannot contain. (Old links may
 * have longer hosts.)
 */
export function* domainsOf(host: string): Generator<string> {
  if (host.length <= maxHostLength) yield host;
  // IP addresses have no parent domains.
  if (/^\[|^[\d.]+$/.test(host)) return;
  const first = Math.max(0, host.length - maxHostLength - 1);
  for (let dot = host.indexOf('.', first); dot !== -1; dot = host.indexOf('.', dot + 1)) {
    yield host.slice(dot + 1);
  }
}

/**
 * A list of hosts and URL prefixes, one per line. `evil.example` covers its subdomains, all ports and paths;
 * `evil.example/login` covers this host and path prefix; `evil.example:8080` covers this port. Schemes are ignored.
 */
export const parseBlocklist = (text: string): ParsedBlocklist => {
  const hosts = new Set<string>();
  const prefixes = new Map<string, CanonicalUrl[]>();
  const list = parseList(text);
  for (const { text: written, line } of list) {
    const entry = parseEntry(written);
    if (!entry) return { type: 'malformed', line, entry: written };
    const { isHost, prefix } = entry;
    if (isHost) hosts.add(prefix.host);
    else prefixes.set(prefix.host, [...(prefixes.get(prefix.host) ?? []), prefix]);
  }
  const blocklist: Blocklist = {
    entries: list.length,
    has(url) {
      const parsed = parseDestination(url);
      const host = canonicalHost(parsed);
      for (const domain of domainsOf(host)) if (hosts.has(domain)) return true;
      const ofHost = prefixes.get(host);
      if (!ofHost) return false;
      const { port, path } = canonicalUrl(parsed);
      return ofHost.some(
        (prefix) => (prefix.port === '' || prefix.port === port) && path.startsWith(prefix.path),
      );
    },
  };
  return { type: 'parsed', blocklist };
};

export type BlocklistFile = Awaited<ReturnType<typeof openBlocklistFile>>;

/**
 * The list in a file. Call `refresh` every few seconds: file system notifications are unreliable (network drives, mounts
 * into containers, editors that replace the file).
 *
 * @throws ConfigError if the file is invalid at startup; later the old list stays in use
 */
export const openBlocklistFile = async (file: string, logger: Logger) => {
  let lastSeen = '';
  let digest = '';
  let blocklist: Blocklist = { entries: 0, has: () => false };
  let loggedFault = '';

  /** Reads the list if the file has changed. @returns whether it was read */
  const read = async (): Promise<boolean> => {
    const known = lastSeen;
    lastSeen = '';
    const { mtimeMs, ctimeMs, size, ino } = await stat(file);
    // Read before the text, so that the next refresh notices a concurrent change.
    lastSeen = [mtimeMs, ctimeMs, size, ino].join(':');
    if (lastSeen === known) return false;
    const text = await readFile(file, 'utf8');
    const parsed = parseBlocklist(text);
    if (parsed.type === 'malformed') {
      throw new Error(`line ${parsed.line} is neither a host nor a URL prefix: ${parsed.entry}`);
    }
    ({ blocklist } = parsed);
    digest = createHash('sha256').update(text).digest('hex');
    return true;
  };

  try {
    await read();
  } catch (error) {
    throw new ConfigError(`BLOCKLIST_FILE cannot be used: ${(error as Error).message}`);
  }

  const check: SafetyCheck['check'] = (urls) =>
    Promise.resolve(urls.map((url) => (blocklist.has(url) ? 'unsafe' : 'safe')));

  return {
    check,
    /** SHA-256 of the list, so equal on every node with this list. */
    version: () => digest,
    /** Reads the file again if it has changed. Logs faults. */
    async refresh() {
      try {
        if (!(await read())) return;
        loggedFault = '';
        logger.info({ file, entries: blocklist.entries }, 'blocklist reloaded');
      } catch (error) {
        const reason = (error as Error).message;
        // Logged once for each fault.
        if (loggedFault === reason) return;
        loggedFault = reason;
        logger.error({ file, reason }, 'blocklist is invalid; using the previous one');
      }
    },
  };
};
