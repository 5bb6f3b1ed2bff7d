import { readFileSync } from 'node:fs';
import { parseList } from '../../ops/platform/files/list-file.js';
import { projectFile } from '../../ops/platform/files/project-file.js';
import type { ReservedWords } from './reserved-alias.js';

const words = (name: string): readonly string[] =>
  parseList(
    readFileSync(projectFile('command-api', 'aliases', 'reserved', `${name}.txt`), 'utf8'),
  ).map(({ text }) => text);

/** Reads the reserved list of the product. */
export const readReservedWords = (): ReservedWords => ({
  systemRoutes: words('system-routes'),
  brands: words('brands'),
  governments: words('governments'),
  ordinaryNames: words('ordinary-names'),
  loginWords: words('login-words'),
  lures: words('lures'),
  fillers: words('fillers'),
  prepositions: words('prepositions'),
});
