/** The tracer of OpenTelemetry. Imported only with a collector. */
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type SpanContext,
} from '@opentelemetry/api';
import { parseTraceParent, setGlobalErrorHandler } from '@opentelemetry/core';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { endsWithin } from './concurrency/deadline.js';
import { createFloodLog, type Logger } from './logging.js';
import type { Tracer } from './tracing.js';

/** How long a stop waits for the collector (ms). */
const flushWithinMs = 1_000;
/** An unavailable collector is logged once in this time (ms). */
const failureLogMs = 60_000;

const kinds = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const;

const exporterModules = {
  'http/json': () => import('@opentelemetry/exporter-trace-otlp-http'),
  'http/protobuf': () => import('@opentelemetry/exporter-trace-otlp-proto'),
} as const;

const contextOf = (traceparent: string): SpanContext | null => {
  const context = parseTraceParent(traceparent);
  return context && { ...context, isRemote: true };
};

/**
 * Exports spans in the background. The queue is bounded: while the collector is unavailable, spans are dropped. The SDK
 * reads the address and its other settings from its standard variables (`OTEL_…`).
 */
export const createOpenTelemetryTracer = async (settings: {
  readonly protocol: 'http/json' | 'http/protobuf';
  readonly serviceName: string;
  readonly logger: Logger;
}): Promise<Tracer> => {
  const { protocol, serviceName, logger } = settings;
  const { OTLPTraceExporter } = await exporterModules[protocol]();
  const failures = createFloodLog(failureLogMs, 1);
  setGlobalErrorHandler((err) => {
    if (failures(performance.now()) === null) return;
    logger.warn({ err }, 'spans could not be exported to the collector and were dropped');
  });
  const resource = resourceFromAttributes({ 'service.name': serviceName });
  const provider = new BasicTracerProvider({
    resource: resource.merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  const tracer = provider.getTracer(serviceName);

  return {
    start({ name, kind, parent, links = [], startedAt = performance.now(), attributes }) {
      const parentContext = parent === null ? null : contextOf(parent);
      const span = tracer.startSpan(
        name,
        {
          kind: kinds[kind],
          attributes: { ...attributes },
          startTime: startedAt,
          links: links.flatMap((link) => {
            const context = contextOf(link);
            return context ? [{ context }] : [];
          }),
        },
        parentContext ? trace.setSpanContext(ROOT_CONTEXT, parentContext) : ROOT_CONTEXT,
      );
      const { traceId, spanId, traceFlags } = span.spanContext();
      return {
        traceparent: `00-${traceId}-${spanId}-0${traceFlags}`,
        end({ attributes: added = {}, failure = null } = {}) {
          span.setAttributes({ ...added, ...(failure !== null && { 'error.type': failure }) });
          if (failure !== null) span.setStatus({ code: SpanStatusCode.ERROR });
          span.end(performance.now());
        },
      };
    },
    async stop() {
      const stopped = provider.shutdown().catch((err: unknown) => {
        logger.debug({ err }, 'the last spans could not be exported');
      });
      await endsWithin(stopped, flushWithinMs);
    },
  };
};
