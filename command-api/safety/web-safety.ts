import type { Config } from '../../ops/platform/config/config.js';
import type { Logger } from '../../ops/platform/logging.js';
import { projectFile } from '../../ops/platform/files/project-file.js';
import { openBlocklistFile } from './blocklist.js';
import {
  createSafeBrowsing,
  safeBrowsingLimits,
  type SafeBrowsingActivity,
} from './safe-browsing.js';
import { checkInOrder, type SafetyCheck, type SafetyVerdict } from './safety-check.js';
import { createThreatFinder } from './threat-matches.js';

/** A check for links that were accepted before, and the reason to block what it finds. */
export interface Rechecker extends SafetyCheck {
  readonly reason: string;
}

export interface Recheckers {
  /** Changes with the list. */
  readonly blocklist: Rechecker & { version(): string };
  readonly services: readonly Rechecker[];
}

export interface WebSafety extends SafetyCheck {
  /** Reads the blocklist's file again if it has changed. */
  refresh(): Promise<void>;
  readonly recheckers: Recheckers;
  /** URLs by verdict since the start. */
  readonly verdicts: Readonly<Record<SafetyVerdict, number>>;
  /** `null` where it is not configured. */
  readonly safeBrowsing: SafeBrowsingActivity | null;
}

/**
 * The blocklist, and behind it Safe Browsing where it is configured. `refresh` is due every few
 * seconds.
 *
 * @throws ConfigError
 */
export const openWebSafety = async (
  { blocklistFile, safeBrowsing }: Config['safety'],
  logger: Logger,
): Promise<WebSafety> => {
  const file = blocklistFile ?? projectFile('command-api', 'safety', 'blocklist.txt');
  const blocklist = await openBlocklistFile(file, logger);
  const service = safeBrowsing
    ? createSafeBrowsing({
        findThreats: createThreatFinder({
          ...safeBrowsing,
          timeoutMs: safeBrowsingLimits.timeoutMs,
        }),
        logger,
      })
    : null;
  const checks = checkInOrder(service ? [blocklist, service] : [blocklist]);
  const verdicts = { safe: 0, unsafe: 0, unknown: 0 };
  return {
    async check(urls) {
      const found = await checks.check(urls);
      for (const verdict of found) verdicts[verdict] += 1;
      return found;
    },
    refresh: () => blocklist.refresh(),
    verdicts,
    recheckers: {
      blocklist: { ...blocklist, reason: 'The destination is on the blocklist' },
      services: service
        ? [{ check: service.recheck, reason: 'Safe Browsing lists the destination as unsafe' }]
        : [],
    },
    safeBrowsing: service?.activity ?? null,
  };
};
