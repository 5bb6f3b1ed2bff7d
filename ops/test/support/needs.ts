import { spawnSync } from 'node:child_process';
import { accessSync, appendFileSync, constants, mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Context, Suite } from 'mocha';
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

/** Needs root, and a project that other users can read. */
const maySetPriv = (): boolean => {
  const user = ['--reuid=65534', '--regid=65534', '--clear-groups'];
  return succeeds('setpriv', ...user, 'test', '-r', projectFile('package.json'));
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
const probes: Readonly<Record<string, () => boolean>> = {
  mount: mayMount,
  setpriv: maySetPriv,
  unshare: mayUnshare,
};
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
 * Skips the tests of the suite of a hook if a program is missing, and records their number. The hooks of the suite run
 * only if it already has something to tear down.
 *
 * @throws with `CI=true`, where all programs must be installed
 */
export const skipWithout = (
  context: Context,
  programs: readonly string[],
  tearsDown: (suite: Suite) => boolean = () => false,
): void => {
  const missing = programs.filter((program) => !isUsable(program));
  if (missing.length === 0) return;
  const names = missing.map((name) => (name in probes ? `${name} (not usable)` : name)).join(', ');
  if (process.env['CI'] === 'true') throw new Error(`${names} missing: npm run test:setup`);
  const suite = context.test?.parent;
  const file = process.env[skippedVariable];
  if (file !== undefined) appendFileSync(file, `${names}\t${suite?.total() ?? 1}\n`);
  if (suite && !tearsDown(suite)) suite.pending = true;
  context.skip();
};

/**
 * Declares the programs that the tests of the surrounding `describe` run, and that its fixtures do not declare already.
 * Without them, the tests and hooks are skipped, so it comes before fixtures. `npm run test:setup` installs them.
 */
export const needs = (...programs: readonly string[]): void => {
  before('find programs', function () {
    skipWithout(this, programs);
  });
};
