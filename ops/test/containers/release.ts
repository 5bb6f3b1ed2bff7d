import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { projectFile } from '../../platform/files/project-file.js';
import { buildImage, docker } from './docker.js';

const run = promisify(execFile);

const tag = 'linklog-test/release';

/** Builds the image of the latest release, which the history names, unless it is there. @returns its name */
export const buildRelease = async (): Promise<string> => {
  if ((await docker('images', '--quiet', tag)) !== '') return tag;
  const git = async (...args: readonly string[]): Promise<string> =>
    (await run('git', args, { cwd: projectFile() })).stdout.trim();
  const commit = await git('log', '--max-count=1', '--format=%H', '--grep=^Release [0-9]');
  const dir = await mkdtemp(path.join(tmpdir(), 'linklog-release-'));
  try {
    const archive = path.join(dir, 'release.tar');
    const context = path.join(dir, 'context');
    await git('archive', '--format=tar', `--output=${archive}`, commit);
    await run('mkdir', [context]);
    await run('tar', ['--extract', '--file', archive, '--directory', context]);
    await buildImage(tag, context);
    return tag;
  } finally {
    await rm(dir, { recursive: true });
  }
};
