import type { Config } from '../../ops/platform/config.js';
import type { Logger } from '../../ops/platform/logging.js';
import { projectFile } from '../../ops/platform/project-file.js';
import { openBlocklistFile } from './blocklist-file.js';
import { createSafeBrowsing, safeBrowsingLimits } from './safe-browsing.js';
import { inTurn, type SafetyCheck } from './safety-check.js';
import { createThreatFinder } from './threat-matches.js';

export interface WebSafety extends SafetyCheck {
  /** Takes over what has changed in the blocklist's file. */
  refresh(): Promise<void>;
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
  if (!safeBrowsing) return blocklist;
  const { timeoutMs } = safeBrowsingLimits;
  const findThreats = createThreatFinder({ ...safeBrowsing, timeoutMs });
  const service = createSafeBrowsing({ findThreats, logger });
  return { ...inTurn([blocklist, service]), refresh: () => blocklist.refresh() };
};
