import { expect } from 'chai';
import { runningPostgresUrl } from '../../local/postgres/index.js';
import { openKafkaLog } from '../../event-log/kafka/kafka-log.js';
import { readConfig } from '../../config/config.js';
import { createLogger } from '../../platform/logging.js';
import { topics } from '../../../schemas/events/topics.js';
import { newCode, recordsOf } from '../conformance/event-log/events.js';
import { sendRequest } from '../support/http.js';
import { kafkaPrograms, kafkaStartMs } from '../support/kafka.js';
import { launch, mainFile, readyLine, startLinklogCli, temporaryDir } from '../support/process.js';
import { startProduct } from '../support/product.js';
import {
  aclsOfCommands,
  documentedAcls,
  startSecuredKafka,
  user,
} from '../support/secured-kafka.js';
import { Bench } from './harness.js';
import { fixture } from '../support/fixture.js';

const visits = topics.visits.name;

describe('product: on a Kafka with authentication, ACLs and TLS', function () {
  this.timeout(120_000);
  /** The user has the documented ACLs on topics and groups with these prefixes. */
  const [clients, products] = ['clients.', 'product.'];
  const kafka = fixture(
    () => startSecuredKafka(),
    (kafka) => kafka.stop(),
    { needs: [...kafkaPrograms, 'openssl'] },
  );

  before(async function () {
    this.timeout(kafkaStartMs);
    for (const prefix of [clients, products]) {
      const acls = documentedAcls(prefix);
      expect(acls).to.have.length(5);
      await kafka.grant(acls);
    }
  });

  type Env = Readonly<Record<string, string>>;
  const sasl = (mechanism = 'scram-sha-512'): Env => ({
    KAFKA_SASL_MECHANISM: mechanism,
    KAFKA_SASL_USERNAME: user.name,
    KAFKA_SASL_PASSWORD: user.password,
  });
  const plaintext = (): Env => ({
    KAFKA_BROKERS: kafka.at('SASL_PLAINTEXT'),
    KAFKA_TOPIC_PREFIX: clients,
  });
  const tls = (listener: 'SSL' | 'SASL_SSL'): Env => ({
    KAFKA_BROKERS: kafka.at(listener),
    KAFKA_TOPIC_PREFIX: clients,
    KAFKA_SSL: '1',
    KAFKA_SSL_CA_FILE: kafka.ca,
  });
  const certificate = (): Env => ({
    KAFKA_SSL_CERT_FILE: kafka.client.cert,
    KAFKA_SSL_KEY_FILE: kafka.client.key,
  });

  for (const [how, env] of [
    ['with SASL PLAIN', () => ({ ...plaintext(), ...sasl('plain') })],
    ['with SASL SCRAM-SHA-512', () => ({ ...plaintext(), ...sasl('scram-sha-512') })],
    ['with SASL over TLS', () => ({ ...tls('SASL_SSL'), ...sasl('plain') })],
    ['with a client certificate', () => ({ ...tls('SSL'), ...certificate() })],
  ] as const) {
    it(`appends and reads records ${how}`, async () => {
      const { kafka: settings } = readConfig(env());
      if (!settings) throw new Error('KAFKA_BROKERS is not set');
      const log = openKafkaLog({ settings, logger: createLogger('silent') });
      try {
        await log.ready;
        await log.append(visits, recordsOf(visits, newCode(), 1));
        const [range] = (await log.ranges(visits)).filter(({ next, first }) => next > first);
        if (!range) throw new Error('no partition has a record');
        const { partition, first, next } = range;
        const read = [];
        for await (const { records } of log.read(visits, partition, first, next)) {
          read.push(...records);
        }
        expect(read).to.have.length(next - first);
      } finally {
        await log.close();
      }
    });
  }

  it('has the documented ACLs by the commands of scaling.md', () => {
    expect(aclsOfCommands()).to.deep.equal(documentedAcls(''));
  });

  describe('the product', () => {
    const bench = new Bench();
    before(async () => {
      const env = { ...tls('SASL_SSL'), ...sasl(), KAFKA_TOPIC_PREFIX: products };
      bench.use(await startProduct({ env }, false));
    });
    after(() => bench.end());

    it('needs only the documented ACLs, for its services and tools', async () => {
      const { key } = await bench.key('PRO');
      const { shortCode } = await bench.link(key);
      expect((await bench.visit(shortCode)).status).to.equal(302);
      await bench.expectClicks(shortCode, key, 1);
      const ready = await sendRequest(`${bench.product.admin}/health/ready`);
      expect(ready.status, ready.text).to.equal(200);
      const env = { ...tls('SASL_SSL'), ...sasl(), KAFKA_TOPIC_PREFIX: products };
      const { dataDir } = bench.product;
      const replay = await startLinklogCli(['audit', 'replay'], { ...env, DATA_DIR: dataDir })
        .ended;
      expect(replay.exitCode, replay.stderr).to.equal(0);
    });

    it('starts with a wrong password, and reports the cause', async () => {
      const { dataDir, adminToken } = bench.product;
      const api = launch(
        {
          ...plaintext(),
          ...sasl(),
          KAFKA_SASL_PASSWORD: 'wrong',
          KAFKA_TOPIC_PREFIX: products,
          DATABASE_URL: (await runningPostgresUrl(dataDir)) ?? '',
          DATA_DIR: await temporaryDir(),
          ADMIN_TOKEN: adminToken,
          SHORT_URL_HOST: bench.product.edge,
        },
        [mainFile, 'api'],
      );
      try {
        const { admin } = (await readyLine(api)) as { readonly admin: string };
        const ready = await sendRequest(`${admin}/health/ready`);
        expect(ready.status, ready.text).to.equal(503);
        expect(ready.json()).to.have.nested.include({
          'dependencies.log.state': 'down',
          'dependencies.log.code': 'SASL_AUTHENTICATION_FAILED',
        });
        const line = /"msg":"kafka rejects KAFKA_SASL_USERNAME or KAFKA_SASL_PASSWORD: [^"]*"/g;
        expect(api.stderr().match(line)).to.have.length(1);
      } finally {
        api.child.kill('SIGTERM');
        await api.ended;
      }
    });
  });
});
