/** Seconds: from a redirect out of memory to more than any client waits. */
const bounds = [
  0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
] as const;

/** The value of the label `le` of each bucket. */
const upperBounds = [...bounds.map(String), '+Inf'];

export type Labels = Readonly<Record<string, string>>;

/** How long something took each time, in buckets. */
export class Durations {
  /** By bucket, not cumulative; the last one has no bound. */
  readonly counts = new Float64Array(bounds.length + 1);
  sum = 0;

  observe(seconds: number): void {
    let bucket = 0;
    while (bucket < bounds.length && seconds > (bounds[bucket] ?? 0)) bucket += 1;
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.sum += seconds;
  }

  /** Since a time of `performance.now()`. */
  observeSince(startedAt: number): void {
    this.observe((performance.now() - startedAt) / 1_000);
  }
}

// Ours are short words without control characters, and JSON escapes the rest as Prometheus does.
const labelled = (name: string, labels: Labels): string => {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${JSON.stringify(value)}`);
  return pairs.length === 0 ? name : `${name}{${pairs.join(',')}}`;
};

/**
 * A Prometheus histogram over plain numbers, since redirects are measured too: prom-client's
 * `observe` makes a key of the labels' text at each call, and no histogram of its can be set.
 */
export class DurationHistogram {
  readonly #children: { readonly labels: Labels; readonly durations: Durations }[] = [];

  constructor(
    readonly name: string,
    private readonly help: string,
  ) {}

  /** A new series with these labels: keep it, for each call makes another one. */
  child(labels: Labels = {}): Durations {
    const durations = new Durations();
    this.#children.push({ labels, durations });
    return durations;
  }

  /** In Prometheus' text format. */
  text(): string {
    const { name } = this;
    const lines = this.#children.flatMap(({ labels, durations: { counts, sum } }) => {
      // Clients without a key cause this work, so the text of the labels is made once for all buckets.
      const beginning = labelled(`${name}_bucket`, { ...labels, le: '' }).slice(0, -2);
      let count = 0;
      const buckets = upperBounds.map((le, bucket) => {
        count += counts[bucket] ?? 0;
        return `${beginning}${le}"} ${count}`;
      });
      const total = `${labelled(`${name}_count`, labels)} ${count}`;
      return [...buckets, `${labelled(`${name}_sum`, labels)} ${sum}`, total];
    });
    return [`# HELP ${name} ${this.help}`, `# TYPE ${name} histogram`, ...lines, ''].join('\n');
  }
}
