/** The target of a request: an API, an edge with the link in its memory, or an edge otherwise. */
export const responseKinds = ['API', 'edge', 'cached link'] as const;

export type ResponseKind = (typeof responseKinds)[number];

/** A response, or a time-out. Times are milliseconds of `performance.now`. */
export interface Timed {
  readonly kind: ResponseKind;
  /** The address. */
  readonly node: string;
  readonly from: number;
  readonly to: number;
  /** The response time without delays of this process. */
  readonly ms: number;
}

interface Span {
  readonly from: number;
  readonly to: number;
}

/** A pause of one node. */
export interface Frozen extends Span {
  /** The addresses of its listeners. */
  readonly nodes: readonly string[];
}

/** Milliseconds, from the contract. */
const deadlines: Readonly<Record<ResponseKind, number>> = {
  API: 2_000,
  edge: 2_000,
  'cached link': 500,
};

/** The deadline of API and edge while another node, which may hold locks, is frozen. */
const duringFreezeMs = 3_000;

export type Milliseconds = Readonly<Record<ResponseKind, number>>;

export interface DeadlineReport {
  readonly worst: Milliseconds;
  /** Descriptions, the latest response first. */
  readonly late: readonly string[];
}

const overlap = (a: Span, b: Span): number =>
  Math.max(0, Math.min(a.to, b.to) - Math.max(a.from, b.from));

const deadlineOf = (kind: ResponseKind, isFreeze: boolean): number =>
  isFreeze && kind !== 'cached link' ? duringFreezeMs : deadlines[kind];

/** Compares responses with their deadlines; those of a frozen node are ignored. */
export const checkDeadlines = (
  responses: readonly Timed[],
  conditions: {
    readonly frozen: readonly Frozen[];
    /** Added to each deadline for a slow machine. */
    readonly tolerance: Milliseconds;
  },
): DeadlineReport => {
  const worst = { API: 0, edge: 0, 'cached link': 0 };
  const late: { readonly text: string; readonly overdueMs: number }[] = [];
  for (const response of responses) {
    const { kind, node, ms } = response;
    const frozen = conditions.frozen.filter((span) => overlap(span, response) > 0);
    if (frozen.some(({ nodes }) => nodes.includes(node))) continue;
    worst[kind] = Math.max(worst[kind], ms);
    const deadline = deadlineOf(kind, frozen.length > 0);
    const overdueMs = ms - deadline - conditions.tolerance[kind];
    if (overdueMs > 0) {
      const text = `${kind}: ${Math.round(ms)} ms, deadline ${deadline} ms`;
      late.push({ text, overdueMs });
    }
  }
  late.sort((a, b) => b.overdueMs - a.overdueMs);
  return { worst, late: late.map(({ text }) => text) };
};

export const noTolerance: Milliseconds = { API: 0, edge: 0, 'cached link': 0 };

const stepMs = 10;
/** Longer than any time-out of the load. */
const rememberMs = 20_000;

/** Records when the event loop of this process was blocked. */
export const watchOwnDelays = () => {
  const delays: Span[] = [];
  let due = performance.now() + stepMs;
  const timer = setInterval(() => {
    const now = performance.now();
    if (now - due > stepMs) delays.push({ from: due, to: now });
    while ((delays[0]?.to ?? now) < now - rememberMs) delays.shift();
    due = now + stepMs;
  }, stepMs);
  return {
    /** Milliseconds of the span in which the event loop was blocked; spans of the last 20 s. */
    within: (span: Span): number => delays.reduce((sum, delay) => sum + overlap(delay, span), 0),
    stop() {
      clearInterval(timer);
    },
  };
};
