import type { Product } from '../testing/product.js';

/** What the load is made on, and where promises are checked: one process, or nodes that share everything. */
export interface Target {
  /** Addresses such as `http://127.0.0.1:40123`, at least one of each. */
  readonly apis: readonly string[];
  readonly edges: readonly string[];
  readonly admin: string;
  readonly adminToken: string;
  readonly dataDir: string;
}

export const targetOf = ({ api, edge, admin, adminToken, dataDir }: Product): Target => ({
  apis: [api],
  edges: [edge],
  admin,
  adminToken,
  dataDir,
});
