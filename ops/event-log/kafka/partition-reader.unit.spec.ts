import { expect } from 'chai';
import type { Kafka } from 'kafkajs';
import { topics } from '../../../schemas/events/topics.js';
import { eventually, rejection } from '../../test/support/waiting.js';
import { createClusterAdmin } from './admin.js';
import { createPartitionReader } from './partition-reader.js';

describe('platform: reader of a partition of Kafka', () => {
  it('disconnects a member that cannot join', async () => {
    let created = 0;
    let disconnected = 0;
    const consumer = () => {
      created += 1;
      return {
        events: {},
        on: () => undefined,
        connect: () => Promise.reject(new Error('Kafka is away')),
        disconnect: () => Promise.resolve((disconnected += 1)),
      };
    };
    const kafka = { consumer } as unknown as Kafka;
    const settings = {
      brokers: ['127.0.0.1:9'],
      ssl: false as const,
      sasl: null,
      prefix: '',
      replicas: null,
      minInsyncReplicas: null,
      compression: 'gzip' as const,
    };
    const reader = createPartitionReader(kafka, settings, createClusterAdmin(kafka));
    const reading = rejection(reader.read(topics.links.name, 0, 0, 1).next());
    await eventually('two members were created', () => created >= 2);
    // The member that is joining when the reader is closed fails both.
    const closing = rejection(reader.close());
    expect(await reading).to.equal(await closing);
    expect(disconnected).to.equal(created);
  });
});
