import {
  dedicatedKafka,
  kafkaPrograms,
  kafkaStartMs,
  type DedicatedKafka,
} from '../../test/support/kafka.js';
import { needs } from '../../test/support/needs.js';
import { describeSpoolShip, pausePostgres } from './testing/spool-ship.suite.js';

describe('CLI: spools of a removed edge, embedded log', () => {
  describeSpoolShip(() => Promise.resolve({ env: {}, pause: pausePostgres }));
});

describe('CLI: spools of a removed edge, Kafka', function () {
  this.timeout(kafkaStartMs);
  needs(...kafkaPrograms);
  let kafka: DedicatedKafka | undefined;

  after(() => kafka?.drop());

  describeSpoolShip(async () => {
    kafka = await dedicatedKafka('shipped');
    const { brokers, prefix, server } = kafka;
    return {
      env: { KAFKA_BROKERS: brokers, KAFKA_TOPIC_PREFIX: prefix },
      pause() {
        server.kill('SIGSTOP');
        return Promise.resolve(() => {
          server.kill('SIGCONT');
        });
      },
    };
  }, 'shipping');
});
