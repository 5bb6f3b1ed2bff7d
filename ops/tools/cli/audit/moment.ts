import { z } from 'zod';
import { CliError } from '../errors.js';

const spelling = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

/**
 * A moment in ISO 8601, as `toISOString` writes it. A zone is asked for: what an analyst's machine
 * takes for local time is no matter for an audit.
 *
 * @throws CliError
 */
export const moment = (text: string): string => {
  if (spelling.safeParse(text).success) return new Date(text).toISOString();
  throw new CliError(
    'USAGE',
    `there is no time ${JSON.stringify(text)}: write it as 2026-05-20T12:00:00Z, ` +
      'as 2026-05-20T14:00:00+02:00, or as 2026-05-20, which is its first moment in UTC',
  );
};
