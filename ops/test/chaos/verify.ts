import { isClean } from '../../tools/audit/verify/report.js';
import { verify } from '../../tools/audit/verify/verify.js';
import { withDatabase } from '../../tools/cli/database.js';
import { readConfig } from '../../config/config.js';

/**
 * What `linklog audit verify` finds: rows, of the ledger too, that differ from the log. The
 * environment names DATA_DIR, and KAFKA_BROKERS where no stack in there tells of them.
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
