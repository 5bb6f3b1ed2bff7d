import { maxLinks, type Span, type Tracer } from '../../ops/platform/tracing.js';
import { isDelivered, type AttemptOutcome } from '../../ops/webhooks/sender.js';

type TracedEvent = Readonly<{ traceparent?: string }>;

/** The requests of the first events in a body, which is an event or an array of events. */
export const requestsIn = (body: string): readonly string[] => {
  // Avoids parsing: visits have no traces.
  if (!body.includes('"traceparent":')) return [];
  const events = [JSON.parse(body) as TracedEvent | readonly TracedEvent[]].flat();
  return [...new Set(events.flatMap(({ traceparent }) => traceparent ?? []))].slice(0, maxLinks);
};

/** Starts the span of an attempt. It continues the trace of the first event. */
export const startDeliverySpan = (
  tracer: Tracer,
  requests: readonly string[],
  earlierAttempts: number,
): Span => {
  const [first = null, ...others] = requests;
  return tracer.start({
    name: 'POST',
    kind: 'client',
    parent: first,
    links: others,
    attributes: {
      'http.request.method': 'POST',
      ...(earlierAttempts > 0 && { 'http.request.resend_count': earlierAttempts }),
    },
  });
};

export const endDeliverySpan = (span: Span | null, { attempt }: AttemptOutcome): void => {
  const { status } = attempt;
  span?.end({
    attributes: status === null ? {} : { 'http.response.status_code': status },
    failure: isDelivered(attempt) ? null : String(status ?? 'no_response'),
  });
};
