import { valuesByField, type Client } from '../../ops/platform/postgres/pool.js';
import type { ProjectionSchema } from './projection.js';

/** Sequences of a block. More than a shipper's portion, so that a spool has at most two blocks in flight. */
export const blockSize = 4_096;

export const blockOf = (sequence: number): number => Math.floor((sequence - 1) / blockSize);

export interface SpoolBlock {
  readonly source: string;
  readonly block: number;
  /** Without repeats. */
  readonly visits: number;
  readonly highest: number;
}

type Mutable<Type> = { -readonly [Key in keyof Type]: Type[Key] };

const inOrder = (a: SpoolBlock, b: SpoolBlock): number =>
  a.source === b.source ? a.block - b.block : a.source < b.source ? -1 : 1;

/** Counts the visits of a partition, without repeats, by the blocks of their spools. */
export class SpoolBlocks {
  readonly #blocks = new Map<string, Mutable<SpoolBlock>>();
  /** The block of the previous visit, because adjacent visits are mostly of the same spool. */
  #current: Mutable<SpoolBlock> | undefined;
  #end = 0;

  add(source: string, sequence: number): void {
    let current = this.#current;
    if (
      !current ||
      sequence > this.#end ||
      sequence <= this.#end - blockSize ||
      current.source !== source
    ) {
      const block = blockOf(sequence);
      const key = `${block} ${source}`;
      current = this.#blocks.get(key) ?? { source, block, visits: 0, highest: 0 };
      this.#blocks.set(key, current);
      this.#current = current;
      this.#end = (block + 1) * blockSize;
    }
    current.visits += 1;
    current.highest = Math.max(current.highest, sequence);
  }

  blocks(): readonly SpoolBlock[] {
    return [...this.#blocks.values()];
  }
}

/** Adds the visits of a partition to the blocks of their spools. */
export const addToBlocks = async (
  tx: Client,
  schema: ProjectionSchema,
  partition: number,
  blocks: readonly SpoolBlock[],
): Promise<void> => {
  if (blocks.length === 0) return;
  // The lock order, which is the same for the deletion of complete blocks.
  const rows = blocks.toSorted(inOrder);
  await tx.query({
    name: `spool-blocks-${schema}`,
    text: `INSERT INTO ${schema}.spool_blocks AS b (source, block, partition, visits, highest)
           SELECT source, block, $1, visits, highest
           FROM unnest($2::text[], $3::bigint[], $4::integer[], $5::bigint[])
             AS c (source, block, visits, highest)
           ON CONFLICT (source, block, partition) DO UPDATE SET
             visits = b.visits + excluded.visits, highest = greatest(b.highest, excluded.highest)`,
    values: [partition, ...valuesByField(rows, 'source', 'block', 'visits', 'highest')],
  });
};
