import { isClean } from '../../tools/audit/verify/report.js';
import { verify } from '../../tools/audit/verify/verify.js';
import { withDatabase } from '../../tools/cli/database.js';
import { readConfig } from '../../config/config.js';

/**
 * Runs `linklog audit verify`, which compares ledger and projections with the log. The environment is that of
 * `rebuildAll`.
 */
export const verifyAll = (env: Readonly<Record<string, string>>): Promise<readonly string[]> =>
  withDatabase(
    readConfig(env),
    async (database) => {
      const found = await verify({ ...database, limit: 3 });
      const { differences, gaps, setAside } = found;
      const aside = setAside.filter(({ deadLetters, parked }) => deadLetters + parked > 0);
      const unclean = isClean(found) ? [] : [...differences, ...gaps];
      return [...unclean, ...aside].map((fault) => `audit verify: ${JSON.stringify(fault)}`);
    },
    { deadlines: 'patient' },
  );
