import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdtempSync, readFileSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inheritedEnvironment } from '../config/config.js';
import { projectFile } from '../platform/files/project-file.js';
import { inContainerWithoutNetwork } from './support/container.js';

/** Programs that tests run; `npm run test:setup` installs them. `mount` and `unshare` need root. */
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
    'chromium-headless-shell',
    'zbarimg',
    'rsvg-convert',
    'jq',
    'nginx',
    'caddy',
    'duckdb',
    'kubernetes-validate',
    'systemd-analyze',
    'zsh',
    'fish',
  ],
  'prometheus',
  'promtool',
  'schemathesis',
  'openapi-python-client',
  '.postgres-15',
  '.postgres-17',
  'mount',
  'unshare',
];

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

/** Whether the program is on the PATH, or in the folder of the project. */
const isThere = (program: string): boolean =>
  [projectFile(), ...(inheritedEnvironment()['PATH'] ?? '').split(path.delimiter)].some((dir) => {
    try {
      accessSync(path.join(dir, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });

/** Needs root, and a container that allows it. */
const mayUnshare = (): boolean => {
  const [unshare = '', ...options] = inContainerWithoutNetwork;
  return succeeds(unshare, ...options, 'true');
};

const isInstalled = (program: string): boolean =>
  isThere(program) &&
  (program !== 'mount' || mayMount()) &&
  (program !== 'unshare' || mayUnshare());

/** The imports of a module, and the programs in its code without comments. */
const read = (file: string): { readonly modules: string[]; readonly named: string[] } => {
  const code = readFileSync(file, 'utf8').replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, '');
  // `new URL` has the module of a child process.
  const modules = [...code.matchAll(/(?:from |import\(|new URL\()'(\.[^']+\.js)'/g)];
  return {
    modules: modules.map(([, module = '']) => path.resolve(path.dirname(file), module)),
    named: programs.filter((program) => code.includes(`'${program}'`)),
  };
};

/** Needs no other program, except on `LINKLOG_TEST_ON=stack`. */
const startsNothingElse = 'support/product.js';

/**
 * The programs that a compiled spec, or a module that it imports, needs and that are not installed.
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
