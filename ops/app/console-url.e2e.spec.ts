import { expect } from 'chai';
import { sendRequest } from '../test/support/http.js';
import { startEmbeddedProduct } from '../test/support/product.js';

describe('product: CONSOLE_URL', () => {
  it('is the origin of the one-time addresses of the console', async () => {
    const product = await startEmbeddedProduct({
      env: { CONSOLE_URL: 'https://Links.example:8443/' },
    });
    try {
      const address = /^https:\/\/links\.example:8443\/console#t=[\w-]+$/;
      expect((product.ready as { readonly console: string }).console).to.match(address);
      const response = await sendRequest(`${product.admin}/admin/console`, {
        ...{ method: 'POST', body: {} },
        headers: { Authorization: `Bearer ${product.adminToken}` },
      });
      expect((response.json() as { readonly url: string }).url).to.match(address);
    } finally {
      await product.cleanup();
    }
  }).timeout(120_000);
});
