import { benchOf } from './bench.js';
import { describeConnections } from './connections.suite.js';
import { describeDelivery } from './delivery.suite.js';
import type { LogHarness } from './harness.js';
import { describeOrder } from './order.suite.js';
import { describePositions } from './positions.suite.js';
import { describeRead } from './read.suite.js';
import { describeStop } from './stop.suite.js';
import { needs } from '../../support/needs.js';

/**
 * The tests of the port that every adapter of the event log must pass. The spec of an adapter calls it, and adds the
 * tests of this adapter.
 */
export const describeEventLog = (
  name: string,
  open: () => Promise<LogHarness>,
  programs: readonly string[] = [],
): void => {
  describe(`the event log, ${name}`, () => {
    needs(...programs);
    const bench = benchOf(open);
    describeOrder(bench);
    describeDelivery(bench);
    describePositions(bench);
    describeRead(bench);
    describeStop(bench);
    describeConnections(bench);
  });
};
