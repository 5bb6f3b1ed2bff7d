import { expect } from 'chai';
import { connect, type Socket } from 'node:net';
import { folderFixture } from '../../test/support/fixtures.js';
import { sendRequest } from '../../test/support/http.js';
import { launch } from '../../test/support/process.js';
import { startEmbeddedProduct } from '../../test/support/product.js';
import { eventually, within } from '../../test/support/waiting.js';

const limitedTo = (files: number): readonly string[] => [
  ...['sh', '-c', `ulimit -n ${files} && exec "$@"`, 'sh'],
];

describe('product: a limit of open files', function () {
  this.timeout(120_000);
  const folder = folderFixture();

  it('that is too low ends the start with exit code 78 and one line', async () => {
    const { ended } = launch({ DATA_DIR: folder.path }, undefined, limitedTo(64));
    const { exitCode, stdout, stderr } = await within(30_000, 'the start did not end', ended);
    expect({ exitCode, stdout }).to.deep.equal({ exitCode: 78, stdout: '' });
    expect(stderr).to.match(/^linklog: the limit of open files is 64, and[^\n]+\n$/);
  });

  it('of the least accepted number is enough to serve, and its end is logged', async () => {
    const product = await startEmbeddedProduct({ runner: limitedTo(256) });
    const sockets: Socket[] = [];
    const lines = () => product.stderr();
    try {
      const { key } = await product.createKey({ plan: 'PRO' });
      const created = await sendRequest(`${product.api}/v2/shorten`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${key}` },
        body: { url: 'https://example.com/' },
      });
      expect(created.status, created.text).to.equal(201);
      const { hostname, port } = new URL(product.edge);
      for (let count = 0; count < 300; count += 1) {
        sockets.push(connect(Number(port), hostname).on('error', () => undefined));
      }
      await eventually('the few file descriptors are logged', () =>
        lines().includes('few file descriptors are left: new connections may be closed'),
      );
      for (const socket of sockets) socket.destroy();
      const { shortUrl } = created.json() as { readonly shortUrl: string };
      await eventually('links redirect again', async () => {
        // Until the sockets are closed, the connection is refused or closed.
        const response = await sendRequest(shortUrl).catch(() => null);
        return response?.status === 302;
      });
      await product.stop();
    } finally {
      for (const socket of sockets) socket.destroy();
      await product.cleanup();
    }
  });
});
