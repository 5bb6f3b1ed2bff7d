import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { projectFile } from '../../platform/files/project-file.js';

const run = promisify(execFile);

/** The commit of release 0.2.0. */
const releaseCommit = 'bef465c4';

/**
 * Builds release 0.2.0 from the history of the project, once for each machine, and returns its folder. With
 * LINKLOG_OLD_RELEASE, returns that folder.
 */
export const oldRelease = async (): Promise<string> => {
  const given = process.env['LINKLOG_OLD_RELEASE'];
  if (given !== undefined) return given;
  const folder = path.join(tmpdir(), `linklog-release-${releaseCommit}`);
  if (existsSync(folder)) return folder;
  const building = `${folder}.building`;
  await rm(building, { recursive: true, force: true });
  await mkdir(building);
  const archive = path.join(building, 'release.tar');
  await run('git', ['archive', '--output', archive, releaseCommit], { cwd: projectFile() });
  await run('tar', ['xf', archive], { cwd: building });
  // Also builds the release.
  await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: building, maxBuffer: 2 ** 26 });
  await rename(building, folder);
  return folder;
};

export const programOf = (release: string, ...file: readonly string[]): string =>
  path.join(release, 'dist', ...file);
