import { expect } from 'chai';
import { eventuallyPasses } from '../support/waiting.js';
import { kafkaStartMs } from '../support/kafka.js';
import {
  documentedAcls,
  startSecuredKafka,
  user,
  type SecuredKafka,
} from '../support/secured-kafka.js';
import { Bench } from './harness.js';

describe('product: on a Kafka with authentication, ACLs and TLS', function () {
  this.timeout(120_000);
  const bench = new Bench();
  let kafka: SecuredKafka;

  before(async function () {
    this.timeout(kafkaStartMs);
    kafka = await startSecuredKafka();
  });
  after(() => kafka.stop());
  afterEach(() => bench.end());

  it('ships visits and projects them with SASL, with the documented ACLs alone', async () => {
    const prefix = 'product.';
    await kafka.grant(await documentedAcls(prefix));
    await bench.start({
      KAFKA_BROKERS: kafka.at('SASL_PLAINTEXT'),
      KAFKA_TOPIC_PREFIX: prefix,
      KAFKA_SASL_MECHANISM: 'scram-sha-512',
      KAFKA_SASL_USERNAME: user.name,
      KAFKA_SASL_PASSWORD: user.password,
    });
    const { key } = await bench.key('PRO');
    const { shortCode } = await bench.link(key);
    expect((await bench.visit(shortCode)).status).to.equal(302);
    await eventuallyPasses(30_000, async () => {
      expect((await bench.stats(shortCode, key)).clickCount).to.equal(1);
    });
  });
});
