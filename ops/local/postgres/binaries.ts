import { join } from 'node:path';
import type { Logger } from 'pino';
import { placeCopy } from './binaries-copy.js';
import { missingLinks, restoreLinks } from './binaries-links.js';
import { cachePlace } from './cache.js';
import { ServerUnavailable, setDatabaseUrl } from './errors.js';
import type { NativePackage } from './native-package.js';

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
}

const programsIn = (native: string): Binaries => ({
  initdb: join(native, 'bin', 'initdb'),
  postgres: join(native, 'bin', 'postgres'),
});

/**
 * Binaries with all their libraries, that PostgreSQL's account can run: as root a copy in the system's
 * cache, since the account may not reach the package (`/root/…/node_modules`); otherwise the package
 * itself, or a copy where its libraries' links are missing and cannot be made.
 *
 * @param places where copies may go, the best first; by default the system's or the user's cache, then `home`
 */
export const provideBinaries = async (
  home: string,
  logger: Logger,
  installed: NativePackage,
  places?: readonly string[],
): Promise<Binaries> => {
  const native = join(installed.dir, 'native');
  if (process.getuid?.() !== 0) {
    const missing = await missingLinks(installed.dir);
    if (missing.length === 0 || (await restoreLinks(missing))) return programsIn(native);
  }
  const cache = cachePlace();
  const candidates = places ?? [...(cache === null ? [] : [cache]), home];
  for (const place of candidates) {
    const copy = await placeCopy(place, installed, logger);
    if (copy !== null) return programsIn(copy);
  }
  throw new ServerUnavailable(
    `The embedded PostgreSQL's programs can be copied to none of ${candidates.join(', ')} (not writable, or writable by others); ${setDatabaseUrl}`,
  );
};
