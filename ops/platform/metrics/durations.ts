/** Upper bounds of the buckets (s): from a cached redirect to more than any client waits. */
const bounds = [
  0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
] as const;

/** Values of the label `le`. */
const upperBounds = [...bounds.map(String), '+Inf'];

export type Labels = Readonly<Record<string, string>>;

/** The series of a histogram. */
export class Durations {
  /** By bucket, not cumulative; the last bucket has no bound. */
  readonly counts = new Float64Array(bounds.length + 1);
  sum = 0;

  observe(seconds: number): void {
    let bucket = 0;
    while (bucket < bounds.length && seconds > (bounds[bucket] ?? 0)) bucket += 1;
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.sum += seconds;
  }

  /** @param startedAt of `performance.now()` */
  observeSince(startedAt: number): void {
    this.observe((performance.now() - startedAt) / 1_000);
  }
}

// JSON escapes values as Prometheus does, except control characters, which our labels do not contain.
const labelled = (name: string, labels: Labels): string => {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${JSON.stringify(value)}`);
  return pairs.length === 0 ? name : `${name}{${pairs.join(',')}}`;
};

/** A Prometheus histogram that is cheap enough for redirects: prom-client's `observe` joins the labels at each call. */
export class DurationHistogram {
  readonly #children: { readonly labels: Labels; readonly durations: Durations }[] = [];

  constructor(
    readonly name: string,
    private readonly help: string,
  ) {}

  /** Creates a series with these labels. */
  child(labels: Labels = {}): Durations {
    const durations = new Durations();
    this.#children.push({ labels, durations });
    return durations;
  }

  /** In Prometheus' text format. */
  text(): string {
    const { name } = this;
    const lines = this.#children.flatMap(({ labels, durations: { counts, sum } }) => {
      // Any client can cause this work, so the labels are rendered once for all buckets.
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
