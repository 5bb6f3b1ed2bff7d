import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { projectFile } from '../../platform/files/project-file.js';
import { launch, readyLine } from '../support/process.js';
import { folderFixture } from '../support/fixtures.js';

/** Runs the steps of the Dockerfile without a container engine, each in a shell. */
describe('product: built by the lines of its Dockerfile', () => {
  const [, buildStage = ''] = readFileSync(projectFile('ops', 'Dockerfile'), 'utf8').split(
    /^FROM /m,
  );
  const steps = [...buildStage.matchAll(/^RUN (.+)$/gm)].map(([, step = '']) => step);
  const ignored = new Set(
    readFileSync(projectFile('.dockerignore'), 'utf8').split('\n').filter(Boolean),
  );
  // Docker has no compiled files; here they save the build half a minute.
  ignored.delete('dist');
  const app = folderFixture();

  before(async () => {
    // The account of PostgreSQL must be able to traverse it.
    await chmod(app.path, 0o755);
  });

  it('installs the locked packages, builds, and starts', async function () {
    this.timeout(300_000);
    expect(steps).to.not.be.empty;
    const source = projectFile();
    cpSync(source, app.path, {
      recursive: true,
      // The compiler compares the times of files.
      preserveTimestamps: true,
      filter: (file) => !ignored.has(path.relative(source, file)),
    });
    for (const step of steps) await promisify(execFile)('sh', ['-c', step], { cwd: app.path });
    const running = launch({ DATA_DIR: path.join(app.path, '.data') }, [
      path.join(app.path, 'dist/ops/main.js'),
    ]);
    expect(await readyLine(running)).to.include({ event: 'ready' });
    running.child.kill();
    expect(await running.ended).to.include({ exitCode: 0 });
  });
});
