import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { ConfigError } from '../../ops/platform/config/config.js';
import type { Logger } from '../../ops/platform/logging.js';
import { parseBlocklist, type Blocklist } from './blocklist.js';
import type { SafetyCheck } from './safety-check.js';

export interface BlocklistFile extends SafetyCheck {
  /** Reads the file again if it has changed; logs what is wrong with it. */
  refresh(): Promise<void>;
  /** Names the list that is in use: another one has another. */
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
 * The list in a file, as it was at the last `refresh`. That is to be called now and then, because the
 * notifications of file systems get lost (network drives, mounts into containers, editors that
 * replace the file).
 *
 * @throws ConfigError when it cannot be read at the start; later the list of before is kept
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
          // Once for each fault, not at every look.
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
