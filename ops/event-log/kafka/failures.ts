/** Kafka is unavailable. The message names the cause and the configuration variable that may be wrong. */
export class KafkaFailure extends Error {
  constructor(
    message: string,
    /** Such as `ECONNREFUSED` or `TOPIC_AUTHORIZATION_FAILED`. */
    readonly code: string | undefined,
    cause: unknown,
  ) {
    super(message, { cause });
  }
}

interface Cause {
  readonly name?: string;
  readonly message?: string;
  /** A string for system calls and TLS, a number for Kafka's protocol. */
  readonly code?: unknown;

  /** The name of an error code of Kafka's protocol. */
  readonly type?: unknown;
  readonly topic?: unknown;
  /** Of all errors of kafkajs. */
  readonly retriable?: boolean;
  readonly cause?: unknown;
  readonly errors?: readonly unknown[];
}

/** Returns the innermost cause, because kafkajs wraps errors after retries and collects those of several topics. */
const rootOf = (error: unknown): Cause => {
  const { cause, errors } = error as Cause;
  const inner = cause ?? errors?.[0];
  return inner === undefined ? (error as Cause) : rootOf(inner);
};

const codeOf = ({ name, code, type }: Cause): string | undefined => {
  if (name === 'KafkaJSSASLAuthenticationError') return 'SASL_AUTHENTICATION_FAILED';
  return [code, type].find((value) => typeof value === 'string');
};

/** Meanings by error code; the first match counts. */
const meanings: readonly (readonly [code: RegExp, meaning: string])[] = [
  [/^SASL_AUTHENTICATION_FAILED$/, 'kafka rejects KAFKA_SASL_USERNAME or KAFKA_SASL_PASSWORD'],
  [/SASL_MECHANISM$/, 'kafka rejects KAFKA_SASL_MECHANISM'],
  [/_AUTHORIZATION_FAILED$/, 'an ACL is missing in kafka'],
  [
    /^ERR_SSL_.*_ALERT_(.*CERTIFICATE|UNKNOWN_CA)/,
    'kafka rejects the client certificate (KAFKA_SSL_CERT_FILE)',
  ],
  [/^ERR_SSL_/, 'a kafka broker does not use TLS as configured (KAFKA_SSL)'],
  [/ALTNAME/, 'the certificate of a kafka broker is for another host name (KAFKA_BROKERS)'],
  [/CERT|SIGNATURE/, 'the certificate of a kafka broker cannot be verified (KAFKA_SSL_CA_FILE)'],
];

export const kafkaFailure = (error: unknown): KafkaFailure => {
  const root = rootOf(error);
  const code = codeOf(root);
  const [, meaning] = meanings.find(([pattern]) => pattern.test(code ?? '')) ?? [];
  const topic = typeof root.topic === 'string' ? ` (${root.topic})` : '';
  const text = `${meaning ?? 'kafka is unreachable'}: ${root.message ?? String(error)}${topic}`;
  return new KafkaFailure(text, code, error);
};

/** Whether Kafka may become available without a change of its settings or ours. */
export const isKafkaOutage = (error: unknown): boolean =>
  error instanceof KafkaFailure && rootOf(error).retriable !== false;

/** Logs a line when the cause of repeated failures changes. */
export const createFailureLog = (logger: {
  warn(details: object, message: string): void;
}): ((failure: KafkaFailure) => void) => {
  let last: string | undefined;
  return (failure) => {
    if (failure.message === last) return;
    last = failure.message;
    const { code, message, cause: err } = failure;
    logger.warn({ code, err }, `${message}; trying again`);
  };
};
