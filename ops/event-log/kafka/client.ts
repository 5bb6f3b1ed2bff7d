import { Kafka, logLevel, type ISocketFactory, type logCreator, type SASLOptions } from 'kafkajs';
import type { Logger } from '../../platform/logging.js';
import { patchKafkajs } from './kafkajs-patches.js';
import type { KafkaSettings } from './settings.js';

/** The retries of kafkajs; callers may retry after them. */
export const requestRetry = { initialRetryTime: 50, maxRetryTime: 1_000, retries: 5 } as const;

export type KafkaLogger = Pick<Logger, 'isLevelEnabled'> & {
  debug(details: object, message: string): void;
};

/** Logs at level debug, because kafkajs reports each refused connection and each new leader as an error. */
const logInto =
  (logger: KafkaLogger): logCreator =>
  () =>
  ({ namespace, log }) => {
    const { message, error, broker, groupId } = log as { readonly message: string } & Readonly<
      Record<string, unknown>
    >;
    logger.debug({ kafka: namespace, broker, groupId, error }, message);
  };

export const createKafkaClient = (
  settings: KafkaSettings,
  logger: KafkaLogger,
  socketFactory?: ISocketFactory,
): Kafka => {
  patchKafkajs();
  // Rotates the brokers; kafkajs would always start with the first one, even if it hangs.
  let next = 0;
  const nextBroker = (): string[] => {
    const broker = settings.brokers[next % settings.brokers.length];
    next += 1;
    return broker === undefined ? [] : [broker];
  };
  return new Kafka({
    clientId: 'linklog',
    brokers: nextBroker,
    ssl: settings.ssl && { ca: settings.ssl.ca ?? undefined, ...settings.ssl.client },
    // A copy, because kafkajs adds a function, and settings are cloned into other threads.
    ...(settings.sasl && { sasl: { ...settings.sasl } as SASLOptions }),
    connectionTimeout: 1_000,
    requestTimeout: 3_000,
    retry: requestRetry,
    logLevel: logger.isLevelEnabled('debug') ? logLevel.INFO : logLevel.NOTHING,
    logCreator: logInto(logger),
    ...(socketFactory && { socketFactory }),
  });
};
