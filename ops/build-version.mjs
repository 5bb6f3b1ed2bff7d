/**
 * A step of `npm run build`: writes `dist/version`. Between releases, the version of package.json ends with `-dev`, and
 * that of a build adds its commit: the variable `COMMIT`, because an image is built without the history, or that of Git.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));

const describe = () => {
  const args = ['describe', '--always', '--dirty', '--exclude=*', '--abbrev=8'];
  return spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout?.trim();
};
const commit = version.endsWith('-dev') ? process.env.COMMIT || describe() : undefined;
writeFileSync(`${root}dist/version`, commit ? `${version}+${commit}` : version);
