import { describeSpoolShip, pausePostgres } from './testing/spool-ship.suite.js';

describe('CLI: spools of an edge that is gone, to the embedded log', function () {
  this.timeout(120_000);

  describeSpoolShip(() => Promise.resolve({ env: {}, pause: pausePostgres }));
});
