/**
 * Preloaded into the services (NODE_OPTIONS) by `chaos:stack -- --kafkajs-retries`: producers use the retries of
 * kafkajs, which lose partitions whose leader moves, and report every request as acknowledged. The checks must find
 * that.
 */
import { Kafka, type Producer, type ProducerBatch, type ProducerConfig } from 'kafkajs';
import { requestRetry } from '../../event-log/kafka/client.js';

const { prototype } = Kafka as unknown as {
  readonly prototype: { producer: (this: Kafka, options?: ProducerConfig) => Producer };
};
const { producer } = prototype;
prototype.producer = function withRetries(options) {
  const retrying = producer.call(this, { ...options, retry: requestRetry });
  const sendBatch = retrying.sendBatch.bind(retrying);
  retrying.sendBatch = async (batch: ProducerBatch) => {
    await sendBatch(batch);
    return (batch.topicMessages ?? []).flatMap(({ topic, messages }) =>
      messages.map(({ partition = 0 }) => ({ topicName: topic, partition, errorCode: 0 })),
    );
  };
  return retrying;
};
