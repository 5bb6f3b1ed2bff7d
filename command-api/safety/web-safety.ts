import type { Config } from '../../ops/config/config.js';
import type { Logger } from '../../ops/platform/logging.js';
import { projectFile } from '../../ops/platform/files/project-file.js';
import { openBlocklistFile } from './blocklist.js';
import { createSafeBrowsing, safeBrowsingLimits } from './safe-browsing.js';
import { checkInOrder, type SafetyCheck } from './safety-check.js';
import { createThreatFinder } from './threat-matches.js';

/** A check of existing links, and the reason to block unsafe ones. */
interface Rechecker extends SafetyCheck {
  readonly reason: string;
}

export interface Recheckers {
  /** Changes with the list. */
  readonly blocklist: Rechecker & { version(): string };
  readonly services: readonly Rechecker[];
}

export type WebSafety = Awaited<ReturnType<typeof openWebSafety>>;

/**
 * The blocklist, and Safe Browsing if it is configured. Call `refresh` every few seconds.
 *
 * @throws ConfigError
 */
export const openWebSafety = async (
  { blocklistFile, safeBrowsing }: Config['safety'],
  logger: Logger,
) => {
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
  /** URLs by verdict since the start. */
  const verdicts = { safe: 0, unsafe: 0, unknown: 0 };
  const check: SafetyCheck['check'] = async (urls, payer) => {
    const found = await checks.check(urls, payer);
    for (const verdict of found) verdicts[verdict] += 1;
    return found;
  };
  const recheckers: Recheckers = {
    blocklist: { ...blocklist, reason: 'The destination is on the blocklist' },
    services: service
      ? [{ check: service.recheck, reason: 'Safe Browsing lists the destination as unsafe' }]
      : [],
  };
  return {
    check,
    refresh: () => blocklist.refresh(),
    verdicts,
    recheckers,
    /** `null` if it is not configured. */
    safeBrowsing: service?.activity ?? null,
  };
};
