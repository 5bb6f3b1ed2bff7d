import { expect } from 'chai';
import { createRequire } from 'node:module';
import { createFailureLog, isKafkaOutage, kafkaFailure } from './failures.js';

const load = createRequire(import.meta.url);

type NewError = new (message: unknown, options?: object) => Error;
const errors = load('kafkajs/src/errors.js') as Readonly<Record<string, NewError>>;
const { createErrorFromCode } = load('kafkajs/src/protocol/error.js') as {
  readonly createErrorFromCode: (code: number) => Error;
};

const make = (name: string, message: unknown, options?: object): Error => {
  const Constructor = errors[name];
  if (!Constructor) throw new Error(`kafkajs has no ${name}`);
  return new Constructor(message, options);
};
/** The error in which kafkajs wraps the last failure of its retries. */
const afterRetries = (error: Error): Error =>
  make('KafkaJSNumberOfRetriesExceeded', error, { retryCount: 5, retryTime: 1 });

const groupDenied = createErrorFromCode(30);

describe('platform: failures of Kafka', () => {
  const cases: Readonly<Record<string, readonly [Error, code: string | undefined]>> = {
    'kafka is unreachable: Connection error: x': [
      afterRetries(make('KafkaJSConnectionError', 'Connection error: x', { code: 'ECONNREFUSED' })),
      'ECONNREFUSED',
    ],
    'kafka rejects KAFKA_SASL_USERNAME or KAFKA_SASL_PASSWORD: SASL PLAIN authentication failed: no':
      [
        make('KafkaJSSASLAuthenticationError', 'SASL PLAIN authentication failed: no'),
        'SASL_AUTHENTICATION_FAILED',
      ],
    [`an ACL is missing in kafka: ${groupDenied.message}`]: [
      afterRetries(groupDenied),
      'GROUP_AUTHORIZATION_FAILED',
    ],
    'the certificate of a kafka broker cannot be verified (KAFKA_SSL_CA_FILE): Connection error: self-signed certificate':
      [
        make('KafkaJSConnectionError', 'Connection error: self-signed certificate', {
          code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
        }),
        'DEPTH_ZERO_SELF_SIGNED_CERT',
      ],
    [`an ACL is missing in kafka: ${createErrorFromCode(29).message} (a.links)`]: [
      Object.assign(new Error('Topic creation errors'), {
        errors: [Object.assign(createErrorFromCode(29), { topic: 'a.links' })],
      }),
      'TOPIC_AUTHORIZATION_FAILED',
    ],
    'kafka is unreachable: something else': [new Error('something else'), undefined],
  };
  it('counts as an outage if a retry may succeed: a partition has another leader, a broker is unreachable', () => {
    const connection = make('KafkaJSConnectionError', 'x', { code: 'ECONNREFUSED' });
    const sasl = make('KafkaJSSASLAuthenticationError', 'no');
    const outcomes = [createErrorFromCode(6), afterRetries(connection), groupDenied, sasl].map(
      (error) => isKafkaOutage(kafkaFailure(error)),
    );
    expect(outcomes).to.deep.equal([true, true, false, false]);
    expect(isKafkaOutage(connection)).to.equal(false);
  });

  for (const [message, [error, code]] of Object.entries(cases)) {
    it(`names the cause: ${message}`, () => {
      const failure = kafkaFailure(error);
      expect(failure.code).to.equal(code);
      expect(failure.message).to.equal(message);
      expect(failure.cause).to.equal(error);
    });
  }

  it('logs one line for each cause, not for each failure', () => {
    const lines: string[] = [];
    const log = createFailureLog({ warn: (_details, message) => lines.push(message) });
    const [denied, other] = [kafkaFailure(groupDenied), kafkaFailure(new Error('other'))];
    for (const failure of [denied, denied, other, other, denied]) log(failure);
    expect(lines).to.deep.equal(
      [denied, other, denied].map(({ message }) => `${message}; trying again`),
    );
  });
});
