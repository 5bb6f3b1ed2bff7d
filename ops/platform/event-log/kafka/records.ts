import type { KafkaMessage } from 'kafkajs';
import type { LogRecord } from '../port.js';

/** What stands beside each value: it is one CloudEvent, as JSON. */
export const headers = { 'content-type': 'application/cloudevents+json' } as const;

/** A record as the port has it. What is not ours (no key, no value) gives empty text: a dead letter. */
export const recordOf = ({ offset, key, value }: KafkaMessage): LogRecord => ({
  offset: Number(offset),
  key: key?.toString() ?? '',
  value: value?.toString() ?? '',
});
