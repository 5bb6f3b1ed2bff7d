/**
 * The second step of `npm run build`: bundles the console's client into `dist/command-api/console/client`, unless the
 * sources are unchanged.
 */
import { createHash } from 'node:crypto';
import { copyFileSync, cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { projectFile } from '../../ops/platform/files/project-file.js';

const sources = projectFile('command-api', 'console');
/** The bundle has modules of these folders too. */
const sharedFolders = [
  projectFile('command-api', 'imports', 'formats'),
  projectFile('ops', 'clients', 'typescript', 'src'),
  projectFile('schemas'),
];
const bundle = projectFile('dist', 'command-api', 'console', 'client');
const builtFrom = `${bundle}.sha256`;

/** Includes the versions of the libraries. */
const hashOfSources = (): string => {
  const hash = createHash('sha256').update(readFileSync(projectFile('package-lock.json')));
  const files = [sources, ...sharedFolders]
    .flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .sort();
  for (const file of files) hash.update(file).update(readFileSync(file));
  return hash.digest('hex');
};

const isBuiltFrom = (hash: string): boolean => {
  try {
    return readFileSync(builtFrom, 'utf8') === hash;
  } catch {
    // Not built yet.
    return false;
  }
};

const hash = hashOfSources();
if (!isBuiltFrom(hash)) {
  const { build } = await import('vite');
  const root = path.join(sources, 'client');
  await build({
    configFile: false,
    root,
    base: '/console/',
    publicDir: false,
    logLevel: 'warn',
    resolve: {
      alias: [
        { find: 'tr46', replacement: path.join(sources, 'in-browser.ts') },
        { find: /^.*\/zone-offset\.js$/, replacement: path.join(sources, 'in-browser.ts') },
      ],
    },
    build: {
      outDir: bundle,
      emptyOutDir: true,
      // The content security policy allows `data:` only for images, and no inline scripts.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      rolldownOptions: {
        input: [path.join(root, 'index.html'), path.join(root, 'operators.html')],
        output: {
          // Few files: requesting one takes up to 15 ms on a processor that is 4 × slower.
          codeSplitting: {
            groups: [
              { name: 'shared', tags: ['$initial'], minShareCount: 2 },
              { name: 'later', minShareCount: 2 },
            ],
          },
        },
      },
    },
  });
  for (const name of readdirSync(path.join(bundle, 'assets'))) {
    if (!/\.(?:js|css)$/.test(name)) continue;
    const file = path.join(bundle, 'assets', name);
    const content = readFileSync(file);
    writeFileSync(`${file}.br`, brotliCompressSync(content));
    writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
  }
  const modules = projectFile('node_modules');
  const flags = path.join(modules, 'country-flag-icons');
  cpSync(path.join(flags, '3x2'), path.join(bundle, 'flags'), {
    recursive: true,
    filter: (name) => /(?:3x2|\.svg)$/.test(name),
  });
  cpSync(path.join(root, 'brands'), path.join(bundle, 'brands'), { recursive: true });
  // The licenses of the font, of the flags and of the icons require their texts beside them.
  const license = path.join(modules, '@fontsource-variable', 'inter', 'LICENSE');
  copyFileSync(license, path.join(bundle, 'inter-license.txt'));
  copyFileSync(path.join(flags, 'LICENSE'), path.join(bundle, 'flags', 'license.txt'));
  copyFileSync(path.join(root, 'lucide-license.txt'), path.join(bundle, 'lucide-license.txt'));
  writeFileSync(builtFrom, hash);
}
