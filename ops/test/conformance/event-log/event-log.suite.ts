import { benchOf } from './bench.js';
import { describeConnections } from './connections.suite.js';
import { describeDelivery } from './delivery.suite.js';
import type { LogHarness } from './harness.js';
import { describeOrder } from './order.suite.js';
import { describePositions } from './positions.suite.js';
import { describeRead } from './read.suite.js';
import { describeStop } from './stop.suite.js';

/**
 * What every adapter of the event log must do: the port's promises as tests. An adapter's spec calls
 * it with a way to open one log, and says there what holds for that adapter alone.
 */
export const describeEventLog = (name: string, open: () => Promise<LogHarness>): void => {
  describe(`the event log, ${name}`, () => {
    const bench = benchOf(open);
    describeOrder(bench);
    describeDelivery(bench);
    describePositions(bench);
    describeRead(bench);
    describeStop(bench);
    describeConnections(bench);
  });
};
