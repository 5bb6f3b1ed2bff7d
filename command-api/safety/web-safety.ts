import type { Config } from '../../ops/platform/config.js';
import type { Logger } from '../../ops/platform/logging.js';
import { projectFile } from '../../ops/platform/project-file.js';
import { openBlocklistFile } from './blocklist-file.js';
import { createSafeBrowsing, safeBrowsingLimits } from './safe-browsing.js';
import { inTurn, type SafetyCheck } from './safety-check.js';
import { createThreatFinder } from './threat-matches.js';

/** Somebody to ask about links that were accepted before, and the reason for what is found. */
export interface Rechecker extends SafetyCheck {
  readonly reason: string;
}

export interface Recheckers {
  /** Another version says another list. */
  readonly blocklist: Rechecker & { version(): string };
  readonly services: readonly Rechecker[];
}

export interface WebSafety extends SafetyCheck {
  /** Takes over what has changed in the blocklist's file. */
  refresh(): Promise<void>;
  readonly recheckers: Recheckers;
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
  const listed = { ...blocklist, reason: 'The destination is on the blocklist' };
  if (!safeBrowsing) return { ...blocklist, recheckers: { blocklist: listed, services: [] } };
  const { timeoutMs } = safeBrowsingLimits;
  const findThreats = createThreatFinder({ ...safeBrowsing, timeoutMs });
  const service = createSafeBrowsing({ findThreats, logger });
  const known = { check: service.recheck, reason: 'Safe Browsing lists the destination as unsafe' };
  return {
    ...inTurn([blocklist, service]),
    refresh: () => blocklist.refresh(),
    recheckers: { blocklist: listed, services: [known] },
  };
};
