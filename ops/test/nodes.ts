/**
 * `npm run test:nodes`: runs the unit specs, and the main paths of the product, on each other version of Node
 * that `engines` allows. The binaries come as packages of npm.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { inheritedEnvironment } from '../platform/config/config.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const versions = [22, 24, 26];
const mocha = fileURLToPath(import.meta.resolve('mocha/lib/cli/cli.js'));
const mainPaths = ['live-at-201', 'redirect', 'shorten', 'qr'].map(
  (name) => `dist/ops/test/e2e/${name}.e2e.spec.js`,
);

const dir = mkdtempSync(path.join(tmpdir(), 'linklog-nodes-'));
try {
  const platform = `${process.platform}-${process.arch}`;
  for (const version of versions) {
    const prefix = path.join(dir, String(version));
    const name = `node-${platform}`;
    execFileSync('npm', ['install', '--silent', '--prefix', prefix, `${name}@${version}`]);
    const node = path.join(prefix, 'node_modules', name, 'bin', 'node');
    const found = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim();
    process.stdout.write(`\n=== Node ${found} ===\n`);
    const { status } = spawnSync(node, [mocha, 'dist/**/*.unit.spec.js', ...mainPaths], {
      cwd: root,
      env: inheritedEnvironment(),
      stdio: 'inherit',
    });
    if (status !== 0) process.exitCode = 1;
  }
} finally {
  rmSync(dir, { recursive: true });
}
