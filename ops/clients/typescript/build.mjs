/** `npm pack` runs it: compiles the package into `dist`, with the operations of the OpenAPI document. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import './generate.mjs';

const folder = fileURLToPath(new URL('.', import.meta.url));
const root = path.join(folder, '..', '..', '..');
const target = path.join(folder, 'dist');
rmSync(target, { recursive: true, force: true });
const compiler = path.join(root, 'node_modules', '.bin', 'tsc');
// The comments of the declarations are documentation.
for (const options of [['--emitDeclarationOnly'], ['--declaration', 'false', '--removeComments']]) {
  execFileSync(compiler, ['-p', folder, ...options], { stdio: 'inherit' });
}
const sources = path.join('ops', 'clients', 'typescript', 'src');
for (const [from, name] of [
  ['dist', 'operations.js'],
  ['dist/generated', 'operations.d.ts'],
]) {
  copyFileSync(path.join(root, from, sources, name), path.join(target, name));
}
copyFileSync(path.join(root, 'LICENSE'), path.join(target, 'LICENSE'));
