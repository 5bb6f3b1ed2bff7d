import type { Actor } from '../../schemas/decision.js';
import type { Pool } from '../platform/postgres/pool.js';
import { endAfter, startSpans } from '../platform/tracing.js';

/** Runs a transaction, with a span in the trace of each request whose commands it decides. */
export const traced = <Result>(
  { tracer }: Pick<Pool, 'tracer'>,
  causes: readonly Pick<Actor, 'traceparent'>[],
  run: () => Promise<Result>,
): Promise<Result> => {
  if (!tracer) return run();
  const parents = new Set(causes.flatMap(({ traceparent }) => traceparent ?? []));
  const attributes = { 'db.system.name': 'postgresql', 'linklog.commands': causes.length };
  const spans = startSpans(tracer, parents, { name: 'transaction', kind: 'client', attributes });
  return endAfter(spans, run);
};
