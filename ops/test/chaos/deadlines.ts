/** What is asked: an API, an edge for a link that it has in memory, or an edge for anything else. */
export const responseKinds = ['API', 'edge', 'cached link'] as const;

export type ResponseKind = (typeof responseKinds)[number];

/** An answer, or the end of the wait for one. Times in milliseconds, of `performance.now`. */
export interface Timed {
  readonly kind: ResponseKind;
  /** Whose it is, by its address. */
  readonly node: string;
  readonly from: number;
  readonly to: number;
  /** Without the time in which this process was too busy to hear it. */
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

/** Milliseconds, as the contract has them. */
const deadlines: Readonly<Record<ResponseKind, number>> = {
  API: 2_000,
  edge: 2_000,
  'cached link': 500,
};

/** While another node is frozen, which may hold locks, API and edge may take as long. */
const besideFrozenMs = 3_000;

export type Milliseconds = Readonly<Record<ResponseKind, number>>;

export interface Judgement {
  readonly worst: Milliseconds;
  /** In words, the worst one first. */
  readonly late: readonly string[];
}

const overlap = (one: Span, other: Span): number =>
  Math.max(0, Math.min(one.to, other.to) - Math.max(one.from, other.from));

const deadlineOf = (kind: ResponseKind, besideFrozen: boolean): number =>
  besideFrozen && kind !== 'cached link' ? besideFrozenMs : deadlines[kind];

/**
 * Holds answers against their deadlines. Those of a frozen node do not count.
 */
export const checkDeadlines = (
  answers: readonly Timed[],
  seen: {
    readonly frozen: readonly Frozen[];
    /** What the machine adds to each deadline. */
    readonly tolerance: Milliseconds;
  },
): Judgement => {
  const worst = { API: 0, edge: 0, 'cached link': 0 };
  const late: { readonly text: string; readonly overdueMs: number }[] = [];
  for (const answer of answers) {
    const { kind, node, ms } = answer;
    const frozen = seen.frozen.filter((span) => overlap(span, answer) > 0);
    if (frozen.some(({ nodes }) => nodes.includes(node))) continue;
    worst[kind] = Math.max(worst[kind], ms);
    const deadline = deadlineOf(kind, frozen.length > 0);
    const overdueMs = ms - deadline - seen.tolerance[kind];
    if (overdueMs > 0) {
      const text = `${kind}: ${Math.round(ms)} ms, at most ${deadline} ms are due`;
      late.push({ text, overdueMs });
    }
  }
  late.sort((a, b) => b.overdueMs - a.overdueMs);
  return { worst, late: late.map(({ text }) => text) };
};

export const noTolerance: Milliseconds = { API: 0, edge: 0, 'cached link': 0 };

const stepMs = 10;
/** Longer than anybody waits for an answer. */
const rememberMs = 20_000;

/** Notes when this process could not attend to what had come for it. */
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
    /** How much of this time was lost: milliseconds, of the last 20 s. */
    within: (span: Span): number => delays.reduce((sum, delay) => sum + overlap(delay, span), 0),
    stop() {
      clearInterval(timer);
    },
  };
};
