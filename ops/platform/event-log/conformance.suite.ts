import { benchOf } from './conformance/bench.js';
import { describeConnections } from './conformance/connections.suite.js';
import { describeDelivery } from './conformance/delivery.suite.js';
import type { LogHarness } from './conformance/harness.js';
import { describeOrder } from './conformance/order.suite.js';
import { describePositions } from './conformance/positions.suite.js';
import { describeRead } from './conformance/read.suite.js';
import { describeStop } from './conformance/stop.suite.js';

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
