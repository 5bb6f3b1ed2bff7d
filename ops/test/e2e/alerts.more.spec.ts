import {
  alertsProduct,
  deadLetter,
  expectAlerts,
  manyConnections,
  stoppedPostgres,
} from './alerts-harness.js';
import { keyFixture } from './harness.js';
import { fixture } from '../support/fixture.js';

// alerts.long.spec.ts tests all alerts.
describe('product: alerts of Prometheus', function () {
  this.timeout(600_000);
  const { bench, prometheus } = alertsProduct();
  const owner = keyFixture(bench, 'PRO');
  const link = fixture(() => bench.link(owner.key));

  it('fire while an event cannot be applied or connections are scarce, and end after the repair', async () => {
    await expectAlerts(prometheus, [deadLetter(bench, owner.key), manyConnections(bench)]);
  });

  it('fire while PostgreSQL is stopped, and end when it continues', async () => {
    const alerts = ['LinklogDependencyDown', 'LinklogServerErrors', 'LinklogSpoolStalled'];
    await expectAlerts(prometheus, [stoppedPostgres(bench, owner.key, link.shortCode, alerts)]);
  });
});
