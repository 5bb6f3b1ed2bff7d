import type { Pool } from '../../ops/platform/postgres/pool.js';
import { eventually } from '../../ops/test/support/waiting.js';

/** A value for each of two nodes. */
export const onBoth = <Node, Value>(
  nodes: readonly [Node, Node],
  create: (node: Node) => Value,
): readonly [Value, Value] => [create(nodes[0]), create(nodes[1])];

/** Runs `count` calls concurrently, alternately on two nodes. */
export const alternate = <Node, Result>(
  nodes: readonly [Node, Node],
  count: number,
  run: (node: Node, index: number) => Promise<Result>,
): Promise<readonly Result[]> =>
  Promise.all(
    Array.from({ length: count }, (_, index) => run(nodes[index % 2 === 0 ? 0 : 1], index)),
  );

/** The number of outcomes of each type. */
export const countTypes = (
  outcomes: readonly { readonly type: string }[],
): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { type } of outcomes) counts[type] = (counts[type] ?? 0) + 1;
  return counts;
};

/** Resolves when `count` statements wait for a lock. */
export const waitForLockWaits = ({ pool }: { readonly pool: Pool }, count = 1): Promise<void> =>
  eventually(`${count} statements wait for a lock`, async () => {
    const { rows } = await pool.query(
      `SELECT FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rows.length >= count;
  });
