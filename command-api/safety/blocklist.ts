import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import type { Logger } from '../../ops/platform/logging.js';
import type { SafetyCheck } from './safety-check.js';
import { ConfigError } from '../../ops/platform/config/config.js';
import { canonicalUrl, type CanonicalUrl } from './canonical-url.js';
import { parseList } from '../../ops/platform/files/list-file.js';

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

export interface BlocklistFile extends SafetyCheck {
  /** Reads the file again if it has changed; logs what is wrong with it. */
  refresh(): Promise<void>;
  /** Identifies the list in use: SHA-256 of its text. */
  version(): string;
}

type Reading =
  | {
      readonly type: 'read';
      readonly version: string;
      /** Of the text: the same on every node that has this list. */
      readonly digest: string;
      readonly blocklist: Blocklist;
    }
  | { readonly type: 'unchanged' }
  | { readonly type: 'failed'; readonly version: string; readonly reason: string };

/** Reads the file if it is another than the one of that version. */
const read = async (file: string, known: string): Promise<Reading> => {
  let version = '';
  try {
    const { mtimeMs, ctimeMs, size, ino } = await stat(file);
    // Taken before the text: what is written meanwhile is found at the next look.
    version = [mtimeMs, ctimeMs, size, ino].join(':');
    if (version === known) return { type: 'unchanged' };
    const text = await readFile(file, 'utf8');
    const parsed = parseBlocklist(text);
    if (parsed.type === 'parsed') {
      const digest = createHash('sha256').update(text).digest('hex');
      return { type: 'read', version, digest, blocklist: parsed.blocklist };
    }
    const reason = `line ${parsed.line} is neither a host nor a URL prefix: ${parsed.entry}`;
    return { type: 'failed', version, reason };
  } catch (error) {
    return { type: 'failed', version, reason: (error as Error).message };
  }
};

/**
 * The list in a file, as of the last `refresh`. Call that every few seconds: notifications of file
 * systems get lost (network drives, mounts into containers, editors that replace the file).
 *
 * @throws ConfigError if the file cannot be read at the start; later the old list is kept
 */
export const openBlocklistFile = async (file: string, logger: Logger): Promise<BlocklistFile> => {
  const first = await read(file, '');
  if (first.type !== 'read') {
    const reason = first.type === 'failed' ? first.reason : 'it has no version';
    throw new ConfigError(`BLOCKLIST_FILE cannot be used: ${reason}`);
  }
  let { version, digest, blocklist } = first;
  let complaint = '';

  return {
    check: (urls) => Promise.resolve(urls.map((url) => (blocklist.has(url) ? 'unsafe' : 'safe'))),
    version: () => digest,
    async refresh() {
      const reading = await read(file, version);
      switch (reading.type) {
        case 'unchanged':
          return;
        case 'read':
          ({ version, digest, blocklist } = reading);
          complaint = '';
          logger.info({ file, entries: blocklist.entries }, 'the blocklist was read again');
          return;
        case 'failed':
          version = reading.version;
          // Logged once for each fault.
          if (complaint === reading.reason) return;
          complaint = reading.reason;
          logger.error(
            { file, reason: complaint },
            'the blocklist cannot be used: the old is kept',
          );
          return;
        default: {
          const unknown: never = reading;
          return unknown;
        }
      }
    },
  };
};
