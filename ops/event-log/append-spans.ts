import { startSpans, type Span, type Tracer } from '../platform/tracing.js';

interface Append {
  readonly system: 'kafka' | 'postgresql';
  readonly topic: string;
  readonly events: number;
  readonly startedAt?: number;
}

/** Starts the spans of an append, in the traces of the events' requests. */
export const startAppendSpans = (
  tracer: Tracer,
  parents: ReadonlySet<string>,
  { system, topic, events, ...options }: Append,
): readonly Span[] =>
  startSpans(tracer, parents, {
    name: `send ${topic}`,
    kind: 'producer',
    attributes: {
      'messaging.system': system,
      'messaging.operation.type': 'send',
      'messaging.operation.name': 'send',
      'messaging.destination.name': topic,
      'messaging.batch.message_count': events,
    },
    ...options,
  });

/** The requests of events. */
export const requestsOf = (
  events: readonly { readonly traceparent?: string | undefined }[],
): ReadonlySet<string> => new Set(events.flatMap(({ traceparent }) => traceparent ?? []));
