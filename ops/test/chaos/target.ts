import type { Product } from '../support/product.js';

/** What the load is made on, and where promises are checked: one process, or nodes that share everything. */
export type Target = Pick<Product, 'apis' | 'edges' | 'admin' | 'adminToken' | 'dataDir'>;
