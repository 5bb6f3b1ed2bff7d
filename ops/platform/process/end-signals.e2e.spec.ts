import { startProduct } from '../../test/support/product.js';

describe('platform: Ctrl-C under npm', () => {
  it('arrives twice, and the process still drains', async () => {
    const product = await startProduct();
    try {
      process.kill(product.pid, 'SIGINT');
      // Another signal: two of one kind may become one.
      await product.stop();
    } finally {
      await product.cleanup();
    }
  });
});
