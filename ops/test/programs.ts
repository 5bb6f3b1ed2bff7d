import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { inheritedEnvironment } from '../platform/config/config.js';

/** Programs of others that tests run; `npm run test:setup` installs them. */
const programs = [
  ...[
    'java',
    'mvn',
    'kcat',
    'redis-server',
    'openssl',
    'chromium',
    'zbarimg',
    'rsvg-convert',
    'jq',
  ],
  'schemathesis',
];

const isInstalled = (program: string): boolean =>
  (inheritedEnvironment()['PATH'] ?? '').split(path.delimiter).some((dir) => {
    try {
      accessSync(path.join(dir, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });

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
