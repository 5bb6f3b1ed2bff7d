import { expect } from 'chai';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fixture } from '../../test/support/fixture.js';
import { kafkaFixture } from '../../test/support/fixtures.js';
import { kafkaStartMs } from '../../test/support/kafka.js';
import { eventually, rejection } from '../../test/support/waiting.js';
import { cuttableSockets } from '../../test/conformance/event-log/cuttable-sockets.js';
import { settingsOf } from '../../test/conformance/event-log/kafka-harness.js';
import { createLogger } from '../../platform/logging.js';
import { createClusterAdmin } from './connections.js';
import { createKafkaClient } from './client.js';
import { patchKafkajs } from './kafkajs-patches.js';

const load = createRequire(import.meta.url);
const logger = createLogger('silent');

interface RequestQueue {
  readonly prototype: { checkPendingRequests: () => void };
}

interface Cluster {
  readonly brokerPool: { metadata: object };
  addTargetTopic: (this: Cluster, topic: string) => Promise<void>;
  refreshMetadataIfNecessary: () => Promise<void>;
}

interface Connection {
  readonly bytesBuffered: number;
  connect(): Promise<boolean>;
  send(exchange: object): Promise<unknown>;
}

/** One connection of kafkajs, without the client around it. */
const connectionTo = (port: number, requestTimeout = 10_000): Connection => {
  const silent = { debug: () => undefined, error: () => undefined, warn: () => undefined };
  const NewConnection = load('kafkajs/src/network/connection.js') as new (
    options: object,
  ) => Connection;
  return new NewConnection({
    host: '127.0.0.1',
    port,
    connectionTimeout: 10_000,
    requestTimeout,
    logger: { ...silent, namespace: () => silent },
    socketFactory: cuttableSockets().factory,
  });
};

/** An exchange whose answer is whatever stands in it. */
const exchange = {
  request: {
    apiKey: 18,
    apiVersion: 0,
    apiName: 'ApiVersions',
    encode: () =>
      Promise.resolve(new (load('kafkajs/src/protocol/encoder.js') as new () => object)()),
  },
  response: {
    decode: (payload: Buffer) => Promise.resolve({ text: payload.toString() }),
    parse: ({ text }: { readonly text: string }) => Promise.resolve(text),
  },
};

/** An answer to a request as it is on the wire: its size, the request's number, and what it says. */
const answerTo = (request: Buffer, text: string): Buffer => {
  const answer = Buffer.alloc(8 + text.length);
  answer.writeInt32BE(4 + text.length);
  request.copy(answer, 4, 8, 12);
  answer.write(text, 8);
  return answer;
};

/** A server that passes each connection, with its number, to `handle`. */
const listening = (handle: (socket: Socket, number: number) => void) =>
  fixture(
    async () => {
      const sockets: Socket[] = [];
      const server = createServer((socket) => {
        socket.on('error', () => socket.destroy());
        handle(socket, sockets.push(socket));
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      return { server, sockets, port: (server.address() as AddressInfo).port };
    },
    async ({ server, sockets }) => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  );

describe('platform: kafkajs, mended', function () {
  this.timeout(kafkaStartMs);

  const kafka = kafkaFixture('patches');
  const interrupted = listening((socket, number) => {
    socket.once('data', (request: Buffer) => {
      const answer = answerTo(request, 'the whole answer');
      socket.write(number === 1 ? answer.subarray(0, 12) : answer);
    });
  });
  const silent = listening((socket) => socket.resume());

  before(() => {
    patchKafkajs();
  });

  it('does not poll for requests on an idle connection', async () => {
    const { prototype } = load('kafkajs/src/network/requestQueue/index.js') as RequestQueue;
    const { checkPendingRequests } = prototype;
    const producer = createKafkaClient(settingsOf(kafka), logger).producer();
    await producer.connect();
    let polls = 0;
    prototype.checkPendingRequests = function count() {
      polls += 1;
      checkPendingRequests.call(this);
    };
    try {
      // Responses to the first requests may still arrive.
      await sleep(500);
      polls = 0;
      await sleep(1_000);
      expect(polls).to.equal(0);
    } finally {
      prototype.checkPendingRequests = checkPendingRequests;
      await producer.disconnect();
    }
  });

  it('reads the next response from its beginning after a connection was lost during one', async () => {
    const connection = connectionTo(interrupted.port);
    await connection.connect();
    const lost = rejection(connection.send(exchange));
    await eventually('half an answer is there', () => connection.bytesBuffered === 12);
    interrupted.sockets[0]?.resetAndDestroy();
    await lost;
    await connection.connect();
    expect(await connection.send(exchange)).to.equal('the whole answer');
  });

  it('closes a connection without a response, and rejects its pending requests', async () => {
    const endOf = async (requestTimeout?: number): Promise<unknown> =>
      connection
        .send({ ...exchange, ...(requestTimeout !== undefined && { requestTimeout }) })
        .catch((error: unknown) => (error as Error).name);
    const taken = once(silent.server, 'connection') as Promise<[Socket]>;
    const connection = connectionTo(silent.port, 200);
    await connection.connect();
    const [socket] = await taken;
    const ended = once(socket, 'close');
    const ends = await Promise.all([endOf(), endOf(10_000)]);
    expect(ends).to.deep.equal(['KafkaJSRequestTimeoutError', 'KafkaJSConnectionError']);
    await ended;
    expect(await endOf()).to.equal('KafkaJSConnectionError');
    await connection.connect();
    expect(await endOf()).to.equal('KafkaJSRequestTimeoutError');
  });

  it('connects each client through the next bootstrap address if a broker does not respond', async () => {
    const brokers = [`127.0.0.1:${silent.port}`, kafka.brokers];
    const client = createKafkaClient({ ...settingsOf(kafka), brokers }, logger);
    const clients = [client.admin(), client.producer(), client.admin(), client.producer()];
    try {
      for (const connecting of clients) await connecting.connect();
    } finally {
      for (const connected of clients) await connected.disconnect();
    }
  });

  it('reads the offsets of a topic whose metadata was requested before the topic was known', async () => {
    const admin = createClusterAdmin(createKafkaClient(settingsOf(kafka), logger));
    const topic = `${kafka.prefix}offsets`;
    const { prototype } = load('kafkajs/src/cluster/index.js') as { readonly prototype: Cluster };
    const { addTargetTopic } = prototype;
    let races = 0;
    // As if this call had shared the refresh of a call for another topic.
    prototype.addTargetTopic = async function addToSharedRefresh(name) {
      await addTargetTopic.call(this, name);
      races += 1;
      if (races > 1) return;
      this.brokerPool.metadata = { ...this.brokerPool.metadata, topicMetadata: [] };
      this.refreshMetadataIfNecessary = () => Promise.resolve();
    };
    try {
      await admin.run((client) =>
        client.createTopics({ topics: [{ topic, numPartitions: 2 }], waitForLeaders: true }),
      );
      races = 0;
      const offsets = await admin.run((client) => client.fetchTopicOffsets(topic));
      expect(offsets).to.have.length(2);
      expect(races).to.equal(2);
    } finally {
      prototype.addTargetTopic = addTargetTopic;
      await admin.close();
    }
  });
});
