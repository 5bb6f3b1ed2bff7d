import { describeSpoolShip, pausePostgres } from './testing/spool-ship.suite.js';

describe('CLI: spools of a removed edge, embedded log', function () {
  this.timeout(120_000);

  describeSpoolShip(() => Promise.resolve({ env: {}, pause: pausePostgres }));
});
