/**
 * Preloaded into the services (NODE_OPTIONS) by `chaos:stack -- --kafkajs-retries`: producers use the retries of
 * kafkajs again, which lose partitions whose leader moves. The checks must find that.
 */
import { Kafka, type Producer, type ProducerConfig } from 'kafkajs';
import { requestRetry } from '../../platform/event-log/kafka/client.js';

const { prototype } = Kafka as unknown as {
  readonly prototype: { producer: (this: Kafka, options?: ProducerConfig) => Producer };
};
const { producer } = prototype;
prototype.producer = function withRetries(options) {
  return producer.call(this, { ...options, retry: requestRetry });
};
