import { spawnSync } from 'node:child_process';
import { accessSync, appendFileSync, constants, mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Context } from 'mocha';
import { inheritedEnvironment } from '../../config/config.js';
import { projectFile } from '../../platform/files/project-file.js';
import { inContainerWithoutNetwork } from './container.js';

/** The environment variable with the file to which `needs` appends lines `<program>\t<number of skipped tests>`. */
export const skippedVariable = 'LINKLOG_TEST_SKIPPED';

const succeeds = (program: string, ...args: readonly string[]): boolean =>
  spawnSync(program, args, { stdio: 'ignore' }).status === 0;

/** Needs root, and a container that allows it. */
const mayMount = (): boolean => {
  const dir = mkdtempSync(path.join(tmpdir(), 'linklog-mount-'));
  try {
    return (
      succeeds('mount', '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', dir) && succeeds('umount', dir)
    );
  } finally {
    rmdirSync(dir);
  }
};

/** Needs root, and a container that allows it. */
const mayUnshare = (): boolean => {
  const [unshare = '', ...options] = inContainerWithoutNetwork;
  return succeeds(unshare, ...options, 'true');
};

const isExecutable = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

/** The absolute path of the first of these programs on the PATH, or of a file of the project, or `null`. */
export const findProgram = (...names: readonly string[]): string | null => {
  const dirs = [projectFile(), ...(inheritedEnvironment()['PATH'] ?? '').split(path.delimiter)];
  const files = names.flatMap((name) => dirs.map((dir) => path.join(dir, name)));
  return files.find(isExecutable) ?? null;
};

/** Programs that can be installed, but not usable. */
const probes: Readonly<Record<string, () => boolean>> = { mount: mayMount, unshare: mayUnshare };
const known = new Map<string, boolean>();

/** @param program names of equivalent programs are separated by ` or ` */
export const isUsable = (program: string): boolean => {
  const usable =
    known.get(program) ??
    (findProgram(...program.split(' or ')) !== null && (probes[program]?.() ?? true));
  known.set(program, usable);
  return usable;
};

/**
 * Whether a program is missing. Then it records the number of tests of the suite of a hook, which must skip them.
 *
 * @throws with `CI=true`, where all programs must be installed
 */
export const isWithout = (context: Context, programs: readonly string[]): boolean => {
  const missing = programs.filter((program) => !isUsable(program));
  if (missing.length === 0) return false;
  const names = missing.map((name) => (name in probes ? `${name} as root` : name)).join(', ');
  if (process.env['CI'] === 'true') throw new Error(`${names} missing: npm run test:setup`);
  const file = process.env[skippedVariable];
  if (file !== undefined) appendFileSync(file, `${names}\t${context.test?.parent?.total() ?? 1}\n`);
  return true;
};

/**
 * Declares the programs that the tests of the surrounding `describe` run, and that its fixtures do not declare already.
 * Without them, the tests and the other hooks are skipped, so it is called first. `npm run test:setup` installs them.
 */
export const needs = (...programs: readonly string[]): void => {
  before('find programs', function () {
    if (!isWithout(this, programs)) return;
    const suite = this.test?.parent;
    if (suite) suite.pending = true;
    this.skip();
  });
};
