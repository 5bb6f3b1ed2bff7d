import { statfsSync } from 'node:fs';
import { ConfigError, hasCode, messageOf, nullOnThrow } from '../platform/errors.js';

/** PostgreSQL ends if it cannot create a segment of its WAL, of 16 MiB. */
const neededBytes = 16 * 1_024 ** 2;

/** PostgreSQL's own log is on the same disk, so it cannot report the cause there. */
export const hasNoSpace = (dataDir: string): boolean => {
  const disk = nullOnThrow(() => statfsSync(dataDir), 'ENOENT');
  return disk !== null && disk.bavail * disk.bsize < neededBytes;
};

/** Names a full disk as the cause of a failed start with the embedded PostgreSQL. */
export const namingFullDisk = (cause: unknown, dataDir: string): unknown => {
  if (cause instanceof ConfigError) return cause;
  if (!hasCode(cause, 'ENOSPC', 'EDQUOT') && !hasNoSpace(dataDir)) return cause;
  return new Error(`no space left in DATA_DIR ${dataDir}: ${messageOf(cause)}`, { cause });
};
