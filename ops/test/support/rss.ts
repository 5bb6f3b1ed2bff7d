import type { Product } from './product.js';

/** Records the resident memory of a product, in MiB, until `stop`. */
export const watchRss = async (product: Product) => {
  const before = await product.rssMiB();
  let most = before;
  const read = async (): Promise<void> => {
    most = Math.max(most, await product.rssMiB());
  };
  const timer = setInterval(() => void read(), 20);
  return {
    async stop() {
      clearInterval(timer);
      await read();
      return { before, most };
    },
  };
};
