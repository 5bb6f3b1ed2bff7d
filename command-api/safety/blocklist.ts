import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Logger } from '../../ops/platform/logging.js';
import type { SafetyCheck } from './safety-check.js';
import { startThread } from '../../ops/platform/concurrency/thread.js';
import { ConfigError } from '../../ops/platform/errors.js';
import { canonicalHost, canonicalUrl } from './canonical-url.js';
import { listEntry } from '../../ops/platform/parse.js';
import { destinationPattern } from '../../schemas/http/link-fields.js';
import { maxHostLength, parseDestination, parseUrl } from '../../schemas/parse-url.js';

/** The keys of a list, in memory that threads share. An entry covers the URLs whose key starts with its key. */
export interface BlocklistKeys {
  /** The number of entries, with redundant ones. */
  readonly entries: number;
  /** SHA-256 of the keys, so equal on every node with this list. */
  readonly version: string;
  /** Sorted, without redundant ones: no key starts with another one. */
  readonly ascii: SharedArrayBuffer;
  /** The offset of each key, and of the end of the last one. */
  readonly offsets: Uint32Array;
}

const httpScheme = /^https?:\/\//i;

/** `example.evil.`: the labels in reverse order, so that the key of a domain is the start of those of its subdomains. */
const hostKey = (host: string): string => [...host.split('.').reverse(), ''].join('.');

/** The key of an entry; `null` if it is neither a host nor a URL prefix. */
const entryKey = (text: string): string | null => {
  const written = text.replace(httpScheme, '').replace(/^(\*\.|\.)(?=.)/, '');
  const url = `http://${written}`;
  const parsed = parseUrl(url);
  if (/\s|:\/\//.test(written) || !destinationPattern.test(url) || parsed === null) return null;
  const { host, port, path } = canonicalUrl(parsed);
  if (host === '' || host.length > maxHostLength) return null;
  if (port !== '') return `${hostKey(host)}:${port}${path}`;
  return /[/?]/.test(written) ? hostKey(host) + path : hostKey(host);
};

type Chunks = AsyncIterable<string> | Iterable<string>;

/** The lines of a text: its chunks, and not the whole text, are in memory. */
async function* linesOf(chunks: Chunks): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of chunks) {
    // The next chunk may start with the line feed of a carriage return at the end.
    const lines = (rest + chunk).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    yield* lines;
  }
  yield rest;
}

/**
 * A list of hosts and URL prefixes, one per line. `evil.example` covers its subdomains, all ports and paths;
 * `evil.example/login` covers this host and path prefix; `evil.example:8080` covers this port. Schemes are ignored.
 *
 * @throws Error for a malformed list
 */
export const parseBlocklist = async (chunks: Chunks): Promise<BlocklistKeys> => {
  const keys: string[] = [];
  let line = 0;
  for await (const text of linesOf(chunks)) {
    line += 1;
    const entry = listEntry(text);
    if (entry === '') continue;
    const key = entryKey(entry);
    if (key === null) throw new Error(`line ${line} is neither a host nor a URL prefix: ${entry}`);
    keys.push(key);
  }
  const entries = keys.length;
  // In place: a copy of a million references is 8 MB.
  let needed = 0;
  for (const key of keys.sort()) {
    if (needed > 0 && key.startsWith(keys[needed - 1] ?? '')) continue;
    keys[needed] = key;
    needed += 1;
  }
  keys.length = needed;
  const offsets = new Uint32Array(new SharedArrayBuffer(4 * (needed + 1)));
  const ascii = new SharedArrayBuffer(keys.reduce((sum, key) => sum + key.length, 0));
  const bytes = Buffer.from(ascii);
  let end = 0;
  keys.forEach((key, index) => {
    end += bytes.write(key, end, 'latin1');
    offsets[index + 1] = end;
  });
  const version = createHash('sha256').update(bytes).update(offsets).digest('hex');
  return { entries, version, ascii, offsets };
};

/** Returns a function that checks whether a list covers a URL. */
export const blocklistOf = ({ ascii, offsets }: BlocklistKeys): ((url: string) => boolean) => {
  const bytes = Buffer.from(ascii);

  /** Compares a key of the list with another one; 0: it is its start. */
  const compare = (index: number, key: string): number => {
    const start = offsets[index] ?? 0;
    const length = (offsets[index + 1] ?? 0) - start;
    for (let at = 0; at < length; at += 1) {
      const difference = (bytes[start + at] ?? 0) - (at < key.length ? key.charCodeAt(at) : -1);
      if (difference !== 0) return difference;
    }
    return 0;
  };

  /** Returns the index of the first key after this one; -1 if a key is its start. */
  const search = (key: string): number => {
    let [low, high] = [0, offsets.length - 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const order = compare(middle, key);
      if (order === 0) return -1;
      if (order > 0) high = middle;
      else low = middle + 1;
    }
    return low;
  };

  return (url) => {
    const parsed = parseDestination(url);
    const host = hostKey(canonicalHost(parsed));
    const next = search(host);
    if (next < 0) return true;
    // The path is needed only if the list has prefixes of the host, or subdomains: their keys start with its key.
    const start = offsets[next] ?? 0;
    if (bytes.toString('latin1', start, start + host.length) !== host) return false;
    const { port, path } = canonicalUrl(parsed);
    return search(host + path) < 0 || (port !== '' && search(`${host}:${port}${path}`) < 0);
  };
};

/** Characters that are parsed together. */
const chunkLength = 1_048_576;

/** @throws Error for a malformed list */
export const readBlocklist = (file: string): Promise<BlocklistKeys> =>
  parseBlocklist(createReadStream(file, { encoding: 'utf8', highWaterMark: chunkLength }));

/** The calls of the thread. */
export interface BlocklistThread {
  read: typeof readBlocklist;
}

const program = new URL('blocklist-thread.js', import.meta.url);

/**
 * The heap of the thread: a million hosts need 100 MB of it. With a limit and a small young generation, V8 collects
 * garbage earlier. A list that needs more is invalid.
 */
const resourceLimits = { maxOldGenerationSizeMb: 1_024, maxYoungGenerationSizeMb: 4 };

/** Reads in a thread: a list of a million hosts takes seconds. */
const readInThread: typeof readBlocklist = async (file) => {
  const thread = startThread<BlocklistThread>(program, { resourceLimits });
  thread.ref();
  try {
    return await thread.call('read', file);
  } finally {
    await thread.terminate();
  }
};

/** Files up to this size (bytes) are read without a thread: 800 lines take less time than its start. */
const maxSmallFile = 16_384;

export type BlocklistFile = Awaited<ReturnType<typeof openBlocklistFile>>;

/**
 * The list in a file. Call `refresh` every few seconds: file system notifications are unreliable (network drives, mounts
 * into containers, editors that replace the file).
 *
 * @throws ConfigError if the file is invalid at startup; later the old list stays in use
 */
export const openBlocklistFile = async (file: string, logger: Logger) => {
  let lastSeen = '';
  let version = '';
  let entries = 0;
  let isListed: (url: string) => boolean = () => false;
  let loggedFault = '';

  /** Reads the list if the file has changed. @returns whether it was read */
  const read = async (): Promise<boolean> => {
    const known = lastSeen;
    lastSeen = '';
    const { mtimeMs, ctimeMs, size, ino } = await stat(file);
    // Read before the text, so that the next refresh notices a concurrent change.
    lastSeen = [mtimeMs, ctimeMs, size, ino].join(':');
    if (lastSeen === known) return false;
    const keys = await (size > maxSmallFile ? readInThread : readBlocklist)(file);
    isListed = blocklistOf(keys);
    ({ entries, version } = keys);
    return true;
  };

  try {
    await read();
  } catch (error) {
    throw new ConfigError(`BLOCKLIST_FILE cannot be used: ${(error as Error).message}`);
  }

  const check: SafetyCheck['check'] = (urls) =>
    Promise.resolve(urls.map((url) => (isListed(url) ? 'unsafe' : 'safe')));

  return {
    check,
    version: () => version,
    /** Reads the file again if it has changed. Logs faults. */
    async refresh() {
      try {
        if (!(await read())) return;
        loggedFault = '';
        logger.info({ file, entries }, 'blocklist reloaded');
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
