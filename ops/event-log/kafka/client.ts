import { Kafka, logLevel, type ISocketFactory, type logCreator, type SASLOptions } from 'kafkajs';
import type { Logger } from '../../platform/logging.js';
import { patchKafkajs } from './kafkajs-patches.js';
import type { KafkaSettings } from './settings.js';

/** The retries of kafkajs itself; its callers decide what comes after. */
export const requestRetry = { initialRetryTime: 50, maxRetryTime: 1_000, retries: 5 } as const;

/** The part of a logger that kafkajs's lines need. */
export type KafkaLogger = Pick<Logger, 'isLevelEnabled'> & {
  debug(details: object, message: string): void;
};

/**
 * Logs the lines of kafkajs at level debug: it reports each refused connection, and each new leader, as
 * an error. Its callers get a rejection, and log that.
 */
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
  // Every client would begin at the first address, also when that broker accepts connections and hangs.
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
    // A copy: kafkajs writes a function into it, and our settings are sent to other threads.
    ...(settings.sasl && { sasl: { ...settings.sasl } as SASLOptions }),
    connectionTimeout: 1_000,
    requestTimeout: 3_000,
    retry: requestRetry,
    logLevel: logger.isLevelEnabled('debug') ? logLevel.INFO : logLevel.NOTHING,
    logCreator: logInto(logger),
    ...(socketFactory && { socketFactory }),
  });
};
