import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdtempSync, readFileSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inheritedEnvironment } from '../config/config.js';
import { projectFile } from '../platform/files/project-file.js';
import { inContainerWithoutNetwork } from './support/container.js';

/** Programs of others that tests run; `npm run test:setup` installs them. `mount` and `unshare` need root. */
const programs = [
  ...[
    'bash',
    'curl',
    'java',
    'mvn',
    'kcat',
    'redis-server',
    'pgbouncer',
    'openssl',
    'faketime',
    'chromium',
    'zbarimg',
    'rsvg-convert',
    'jq',
    'nginx',
  ],
  'schemathesis',
  '.postgres-17',
  'mount',
  'unshare',
];

const succeeds = (program: string, ...args: readonly string[]): boolean =>
  spawnSync(program, args, { stdio: 'ignore' }).status === 0;

/** Only root may, and not in every container. */
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

/** Whether it is on the PATH, or in the project's folder. */
const isThere = (program: string): boolean =>
  [projectFile(), ...(inheritedEnvironment()['PATH'] ?? '').split(path.delimiter)].some((dir) => {
    try {
      accessSync(path.join(dir, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });

/** Only root may, and not in every container. */
const mayUnshare = (): boolean => {
  const [unshare = '', ...options] = inContainerWithoutNetwork;
  return succeeds(unshare, ...options, 'true');
};

const isInstalled = (program: string): boolean =>
  isThere(program) &&
  (program !== 'mount' || mayMount()) &&
  (program !== 'unshare' || mayUnshare());

/** A module's other modules, and the programs that it names. Comments are no use of a program. */
const read = (file: string): { readonly modules: string[]; readonly named: string[] } => {
  const code = readFileSync(file, 'utf8').replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, '');
  // `new URL` names a program of ours that is started, not imported.
  const modules = [...code.matchAll(/(?:from |import\(|new URL\()'(\.[^']+\.js)'/g)];
  return {
    modules: modules.map(([, module = '']) => path.resolve(path.dirname(file), module)),
    named: programs.filter((program) => code.includes(`'${program}'`)),
  };
};

/** Starts the stack only where the whole run is on it. */
const startsNothingElse = 'support/product.js';

/**
 * The programs that a compiled spec needs and that are not installed: those that it, or a module that it
 * imports, names.
 */
export const missingPrograms = (spec: string): readonly string[] => {
  const seen = new Set<string>();
  const needed = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file) || !existsSync(file)) return;
    seen.add(file);
    const { modules, named } = read(file);
    for (const program of named) needed.add(program);
    if (!file.endsWith(startsNothingElse)) modules.forEach(visit);
  };
  visit(path.resolve(spec));
  return [...needed].filter((program) => !isInstalled(program)).sort();
};
