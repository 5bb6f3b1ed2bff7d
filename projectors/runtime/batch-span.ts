import type { Delivery } from '../../ops/event-log/port.js';
import { maxLinks, type Span, type Tracer } from '../../ops/platform/tracing.js';
import { topics } from '../../schemas/events/topics.js';
import { readRecord } from './read-record.js';

/** Records of a batch that are searched for traces. */
const maxSearched = 100;

/** The requests of a batch's first events. Visits have none. */
const requestsOf = ({ topic, records }: Delivery): readonly string[] => {
  if (topic === topics.visits.name) return [];
  const found = new Set<string>();
  for (const record of records.slice(0, maxSearched)) {
    const incoming = readRecord(topic, record);
    if ('event' in incoming && incoming.event.traceparent !== undefined) {
      found.add(incoming.event.traceparent);
    }
    if (found.size === maxLinks) break;
  }
  return [...found];
};

/** Starts the span of a batch. It continues the trace of a batch of one request, and links to those of several. */
export const startBatchSpan = (tracer: Tracer, projection: string, batch: Delivery): Span => {
  const { topic, partition, records } = batch;
  const requests = requestsOf(batch);
  const [first = null, ...others] = requests;
  return tracer.start({
    name: `process ${topic}`,
    kind: 'consumer',
    parent: others.length === 0 ? first : null,
    links: requests,
    attributes: {
      'messaging.operation.type': 'process',
      'messaging.operation.name': 'process',
      'messaging.destination.name': topic,
      'messaging.destination.partition.id': String(partition),
      'messaging.batch.message_count': records.length,
      'messaging.consumer.group.name': `projection-${projection}`,
    },
  });
};
