import { access } from 'node:fs/promises';
import { ServerUnavailable, setDatabaseUrl } from './errors.js';
import { hasCode } from '../../platform/errors.js';

/** What a failure to start one of the programs means, for the person who started us. */
export const explainSpawnError = async (program: string, error: unknown): Promise<unknown> => {
  const unavailable = (why: string): ServerUnavailable =>
    new ServerUnavailable(`${why}; ${setDatabaseUrl}`, { cause: error });
  if (hasCode(error, 'ENOENT')) {
    try {
      await access(program);
    } catch (missing) {
      return unavailable(`${program} is not there (${String(missing)})`);
    }
    // The file is there, so what is not found is the loader that it names.
    return unavailable(
      `The embedded PostgreSQL needs glibc, which this system (Alpine or another with musl) has not`,
    );
  }
  if (hasCode(error, 'EACCES')) return unavailable(`${program} may not be run here`);
  if (hasCode(error, 'EPERM', 'EINVAL'))
    return unavailable(
      'Root may not become another user here, and PostgreSQL does not run as root',
    );
  return error;
};

/** What an exit means before the program proper has begun, or null. */
export const explainExit = (exitCode: number | null, output: string): ServerUnavailable | null => {
  // The shell's and the loader's code for a program or library that is not found.
  if (exitCode !== 127) return null;
  const line = output.trim().split('\n')[0] ?? '';
  return new ServerUnavailable(
    `The embedded PostgreSQL's programs do not load here (${line}); ${setDatabaseUrl}`,
  );
};
