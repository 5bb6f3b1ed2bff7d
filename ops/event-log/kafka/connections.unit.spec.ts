import { expect } from 'chai';
import type { Kafka } from 'kafkajs';
import { rejection } from '../../test/support/waiting.js';
import { createBrokerConnection, createClusterAdmin } from './connections.js';

describe('platform: connections to Kafka', () => {
  it('replace and disconnect each client that cannot connect, and connect no more after their end', async () => {
    let [created, disconnected] = [0, 0];
    const admin = () => {
      created += 1;
      return {
        connect: () =>
          created < 3
            ? Promise.reject(Object.assign(new Error('Kafka is away'), { retriable: true }))
            : Promise.resolve(),
        disconnect: () => Promise.resolve((disconnected += 1)),
      };
    };
    const connection = createClusterAdmin({ admin } as unknown as Kafka);
    expect(await connection.run(() => Promise.resolve('response'))).to.equal('response');
    expect({ created, disconnected }).to.deep.equal({ created: 3, disconnected: 2 });
    await connection.close();
    expect(String(await rejection(connection.run(() => Promise.resolve())))).to.include('closed');
    expect({ created, disconnected }).to.deep.equal({ created: 3, disconnected: 3 });
  });

  it('refuse a release of kafkajs without the function that creates a cluster', () => {
    expect(() => createBrokerConnection({} as unknown as Kafka)).to.throw(/creates a cluster/);
  });
});
