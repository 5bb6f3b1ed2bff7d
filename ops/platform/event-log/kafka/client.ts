import { Kafka, logLevel, type ISocketFactory, type logCreator, type SASLOptions } from 'kafkajs';
import type { Logger } from '../../logging.js';
import { repairKafkajs } from './kafkajs-repairs.js';
import type { KafkaSettings } from './settings.js';

/** What kafkajs retries by itself; whoever calls it decides what comes after. */
export const retry = { initialRetryTime: 50, maxRetryTime: 1_000, retries: 5 } as const;

/**
 * Into our log, and never above a warning: whoever called kafkajs is told by a rejection, and logs
 * what that means. It reports each refused connection as an error.
 */
const logInto =
  (logger: Logger): logCreator =>
  () =>
  ({ level, namespace, log }) => {
    const { message, error, broker, groupId } = log as { readonly message: string } & Readonly<
      Record<string, unknown>
    >;
    const details = { kafka: namespace, broker, groupId, error };
    if (level <= logLevel.WARN) logger.warn(details, message);
    else logger.debug(details, message);
  };

export const createKafkaClient = (
  settings: KafkaSettings,
  logger: Logger,
  socketFactory?: ISocketFactory,
): Kafka => {
  repairKafkajs();
  return new Kafka({
    clientId: 'linklog',
    brokers: [...settings.brokers],
    ssl: settings.ssl,
    ...(settings.sasl && { sasl: settings.sasl as SASLOptions }),
    connectionTimeout: 1_000,
    requestTimeout: 3_000,
    retry,
    logLevel: logger.isLevelEnabled('debug') ? logLevel.INFO : logLevel.WARN,
    logCreator: logInto(logger),
    ...(socketFactory && { socketFactory }),
  });
};
