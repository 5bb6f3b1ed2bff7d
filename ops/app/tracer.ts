import type { Config } from '../config/config.js';
import type { Logger } from '../platform/logging.js';
import type { Tracer } from '../platform/tracing.js';

/** The tracer of a process or thread; `null` without a collector, and then the SDK is not loaded. */
export const openTracer = async (
  tracing: Config['tracing'],
  logger: Logger,
): Promise<Tracer | null> => {
  if (!tracing) return null;
  const { createOpenTelemetryTracer } = await import('../platform/opentelemetry.js');
  return createOpenTelemetryTracer({ ...tracing, serviceName: 'linklog', logger });
};
