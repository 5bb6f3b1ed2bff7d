/** The thread that moves visits from chunks of the spool to Kafka; see `shipping.ts`. */
import { parentPort, workerData } from 'node:worker_threads';
import { createKafkaClient } from '../../ops/platform/event-log/kafka/client.js';
import { createRecordProducer } from '../../ops/platform/event-log/kafka/producer.js';
import type { OutgoingRecord } from '../../ops/platform/event-log/kafka/record-batch.js';
import { topics } from '../../schemas/events/topics.js';
import type { Shipped } from '../spool/shipper.js';
import { recordAt } from '../spool/record.js';
import type { ChunkToShip, WorkerReport, WorkerSettings } from './shipping.js';

const { kafka, debug } = workerData as WorkerSettings;
const port = parentPort;
if (!port) throw new Error('This file is for a worker thread');
const report = (message: WorkerReport): void => {
  port.postMessage(message);
};
const producer = createRecordProducer(
  createKafkaClient(kafka, {
    isLevelEnabled: () => debug,
    debug(details, message) {
      report({ details, message });
    },
  }),
  kafka,
);

/** Key and event go on as the bytes that they are. */
const ship = async (chunk: Buffer): Promise<Shipped> => {
  const records: OutgoingRecord[] = [];
  let bytes = 0;
  let through = 0;
  for (let record = recordAt(chunk, 0); record; record = recordAt(chunk, bytes)) {
    const { sequence, keyStart, keyEnd, end } = record;
    records.push({ key: chunk.subarray(keyStart, keyEnd), value: chunk.subarray(keyEnd, end) });
    bytes = end;
    through = sequence;
  }
  if (records.length > 0) await producer.send(topics.visits.name, records);
  return { records: records.length, bytes, through };
};

port.on('message', ({ id, chunk }: ChunkToShip) => {
  ship(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)).then(
    (shipped) => {
      report({ id, shipped });
    },
    (error: unknown) => {
      report({ id, error });
    },
  );
});
