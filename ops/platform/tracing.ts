/**
 * Distributed tracing. Without a collector there is no tracer, and `tracer?.…` costs a comparison. Traces are passed as
 * W3C `traceparent` values.
 */

type Attributes = Readonly<Record<string, string | number>>;

interface SpanOptions {
  /** Never contains values of a request. */
  readonly name: string;
  readonly kind: 'server' | 'client' | 'producer' | 'consumer';
  /** The traceparent of the parent; `null`: a new trace. */
  readonly parent: string | null;
  /** The traceparents of related spans. */
  readonly links?: readonly string[];
  /** A time of `performance.now()`; the default is now. */
  readonly startedAt?: number;
  /** Names of the semantic conventions. Never addresses, URLs, codes of links or secrets. */
  readonly attributes: Attributes;
}

interface SpanEnd {
  readonly attributes?: Attributes;
  /** Why the span failed: a code or the name of a class, never a message; `null`: it succeeded. */
  readonly failure?: string | null;
}

export interface Span {
  readonly traceparent: string;
  end(end?: SpanEnd): void;
}

export interface Tracer {
  start(options: SpanOptions): Span;
  /** Exports the finished spans, for at most a second. */
  stop(): Promise<void>;
}

/** The links of a span to the events of a batch. */
export const maxLinks = 8;

/** The code or the class of an error. */
const failureOf = (error: unknown): string => {
  if (!(error instanceof Error)) return 'unknown';
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : error.name;
};

/** Ends spans when `work` ends. */
export const endAfter = async <Result>(
  spans: readonly Span[],
  work: () => Promise<Result>,
): Promise<Result> => {
  const end = (failure: string | null): void => {
    for (const span of spans) span.end({ failure });
  };
  try {
    const result = await work();
    end(null);
    return result;
  } catch (error) {
    end(failureOf(error));
    throw error;
  }
};

/** Starts a span in the trace of each parent. */
export const startSpans = (
  tracer: Tracer,
  parents: ReadonlySet<string>,
  options: Omit<SpanOptions, 'parent'>,
): readonly Span[] => Array.from(parents, (parent) => tracer.start({ ...options, parent }));
