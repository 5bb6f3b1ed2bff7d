import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { projectFile } from '../platform/files/project-file.js';
import { folderFixture } from '../test/support/fixtures.js';
import { startEmbeddedProduct } from '../test/support/product.js';

describe('product: a stop that hangs', () => {
  const folder = folderFixture();

  it('ends within 10 s with exit code 0, after the embedded PostgreSQL has stopped', async () => {
    const preload = path.join(folder.path, 'hang.cjs');
    // As if each pool had a connection that is never released.
    await writeFile(
      preload,
      `const { Pool } = require(${JSON.stringify(projectFile('node_modules', 'pg'))});
       process.once('SIGTERM', () => {
         Pool.prototype.end = () => new Promise(() => {});
       });`,
    );
    const product = await startEmbeddedProduct({ env: { NODE_OPTIONS: `--require=${preload}` } });
    try {
      await product.stop();
    } finally {
      await product.cleanup();
    }
  }).timeout(60_000);
});
