import { expect } from 'chai';
import { pino, type Logger } from 'pino';
import { runningPostgresUrl } from '../../local/postgres/index.js';
import { openKafkaLog, type KafkaLog } from '../../event-log/kafka/kafka-log.js';
import { readConfig } from '../../config/config.js';
import type { KafkaSettings } from '../../event-log/kafka/settings.js';
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
  stranger,
  user,
  type Account,
} from '../support/secured-kafka.js';
import { eventually, rejection } from '../support/waiting.js';
import { Bench } from './harness.js';
import { fixture } from '../support/fixture.js';

const visits = topics.visits.name;

interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly code?: string;
  readonly err?: { readonly message: string };
}

const loggerTo = (lines: LogLine[]): Logger =>
  pino(
    { level: 'info' },
    {
      write(line: string) {
        lines.push(JSON.parse(line) as LogLine);
      },
    },
  );

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
      expect(acls).to.have.length(6);
      await kafka.grant(acls);
    }
  });

  type Env = Readonly<Record<string, string>>;
  const sasl = (mechanism = 'scram-sha-512', { name, password }: Account = user): Env => ({
    KAFKA_SASL_MECHANISM: mechanism,
    KAFKA_SASL_USERNAME: name,
    KAFKA_SASL_PASSWORD: password,
  });
  const plaintext = (): Env => ({
    KAFKA_BROKERS: kafka.at('SASL_PLAINTEXT'),
    KAFKA_TOPIC_PREFIX: clients,
  });
  const tls = (listener: 'SSL' | 'SASL_SSL', host?: string): Env => ({
    KAFKA_BROKERS: kafka.at(listener, host),
    KAFKA_TOPIC_PREFIX: clients,
    KAFKA_SSL: '1',
    KAFKA_SSL_CA_FILE: kafka.ca,
  });
  const certificate = (): Env => ({
    KAFKA_SSL_CERT_FILE: kafka.client.cert,
    KAFKA_SSL_KEY_FILE: kafka.client.key,
  });

  const settingsOf = (env: Env): KafkaSettings => {
    const { kafka: settings } = readConfig(env);
    if (!settings) throw new Error('KAFKA_BROKERS is not set');
    return settings;
  };

  describe('a client', () => {
    let log: KafkaLog | null = null;
    let lines: LogLine[];

    const open = (env: Env): KafkaLog => {
      lines = [];
      log = openKafkaLog({ settings: settingsOf(env), logger: loggerTo(lines) });
      return log;
    };
    afterEach(() => log?.close());

    const accepted: readonly (readonly [how: string, env: () => Env])[] = [
      ['with SASL PLAIN', () => ({ ...plaintext(), ...sasl('plain') })],
      ['with SASL SCRAM-SHA-256', () => ({ ...plaintext(), ...sasl('scram-sha-256') })],
      ['with SASL SCRAM-SHA-512', () => ({ ...plaintext(), ...sasl('scram-sha-512') })],
      ['with SASL over TLS', () => ({ ...tls('SASL_SSL'), ...sasl('plain') })],
      ['with a client certificate', () => ({ ...tls('SSL'), ...certificate() })],
    ];
    for (const [how, env] of accepted) {
      it(`${how} appends and reads records`, async () => {
        const opened = open(env());
        await opened.ready;
        await opened.append(visits, recordsOf(visits, newCode(), 1));
        const [range] = (await opened.ranges(visits)).filter(({ next, first }) => next > first);
        if (!range) throw new Error('no partition has a record');
        const read = [];
        for await (const { records } of opened.read(
          visits,
          range.partition,
          range.first,
          range.next,
        )) {
          read.push(...records);
        }
        expect(read).to.have.length(range.next - range.first);
        expect(lines).to.deep.equal([]);
      });
    }

    const refused: readonly (readonly [
      what: string,
      env: () => Env,
      code: string | RegExp,
      message: RegExp,
    ])[] = [
      [
        'a wrong password',
        () => ({ ...plaintext(), ...sasl('plain'), KAFKA_SASL_PASSWORD: 'wrong' }),
        'SASL_AUTHENTICATION_FAILED',
        /^kafka rejects KAFKA_SASL_USERNAME or KAFKA_SASL_PASSWORD: .*PLAIN authentication failed/,
      ],
      [
        'a wrong SCRAM password',
        () => ({ ...plaintext(), ...sasl(), KAFKA_SASL_PASSWORD: 'wrong' }),
        'SASL_AUTHENTICATION_FAILED',
        /^kafka rejects KAFKA_SASL_USERNAME or KAFKA_SASL_PASSWORD: .*SCRAM SHA512 auth/,
      ],
      [
        'a user without ACLs',
        () => ({ ...plaintext(), ...sasl('scram-sha-256', stranger) }),
        'TOPIC_AUTHORIZATION_FAILED',
        /^an ACL is missing in kafka: .*Topic authorization failed.* \(clients\.linklog\.\w+\.v1\)$/,
      ],
      [
        'a prefix without ACLs',
        () => ({ ...plaintext(), ...sasl(), KAFKA_TOPIC_PREFIX: 'other.' }),
        'TOPIC_AUTHORIZATION_FAILED',
        /^an ACL is missing in kafka: .*\(other\.linklog\.\w+\.v1\)$/,
      ],
      [
        'the certificate of an unknown authority',
        () => ({ ...tls('SASL_SSL'), ...sasl(), KAFKA_SSL_CA_FILE: kafka.foreignCa }),
        /^(UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT_LOCALLY)$/,
        /^the certificate of a kafka broker cannot be verified \(KAFKA_SSL_CA_FILE\): /,
      ],
      [
        'another host name than that of the certificate',
        () => ({ ...tls('SASL_SSL', 'localhost'), ...sasl() }),
        'ERR_TLS_CERT_ALTNAME_INVALID',
        /^the certificate of a kafka broker is for another host name \(KAFKA_BROKERS\): .*localhost/,
      ],
      [
        'a missing client certificate',
        () => tls('SSL'),
        /^ERR_SSL_\w+_ALERT_(BAD_CERTIFICATE|CERTIFICATE_REQUIRED)$/,
        /^kafka rejects the client certificate \(KAFKA_SSL_CERT_FILE\): /,
      ],
    ];
    for (const [what, env, code, message] of refused) {
      it(`names ${what} in one log line and in its health check`, async () => {
        const opened = open(env());
        await eventually('the cause is logged', () => lines.length > 0);
        const failure = (await rejection(opened.check())) as Error & { readonly code: string };
        expect(failure.code).to.match(typeof code === 'string' ? new RegExp(`^${code}$`) : code);
        expect(failure.message).to.match(message);
        expect(lines).to.have.length(1);
        expect(lines[0]).to.include({
          level: 40,
          code: failure.code,
          msg: `${failure.message}; trying again`,
        });
      });
    }
  });

  it('the commands of scaling.md add the ACLs of its table', () => {
    expect(aclsOfCommands()).to.deep.equal(documentedAcls(''));
  });

  it('names a missing ACL of a consumer group in the log', async () => {
    const acls = documentedAcls('groups.', stranger.name);
    const topicAcls = acls.filter(({ resourceName }) => resourceName === 'groups.linklog.');
    expect(topicAcls).to.have.length(4);
    await kafka.grant(topicAcls);
    const account = sasl('plain', stranger);
    const settings = settingsOf({ ...plaintext(), ...account, KAFKA_TOPIC_PREFIX: 'groups.' });
    const lines: LogLine[] = [];
    const log = openKafkaLog({ settings, logger: loggerTo(lines) });
    await log.ready;
    const subscription = log.subscribe({
      group: 'test',
      topics: [visits],
      position: () => Promise.resolve(null),
      handle: () => Promise.resolve(),
    });
    await eventually('the cause is logged', () => lines.length > 0);
    await subscription.stop();
    await log.close();
    expect(lines[0]).to.include({ level: 40, msg: 'the log cannot be read; trying again' });
    expect(lines[0]?.err?.message).to.equal(
      'Not authorized to access group: Group authorization failed',
    );
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
