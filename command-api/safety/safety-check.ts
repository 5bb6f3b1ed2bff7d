/** `unknown`: no verdict in time; such a URL must not be accepted. */
export type SafetyVerdict = 'safe' | 'unsafe' | 'unknown';

export interface SafetyCheck {
  /** One verdict for each URL, in their order. The URLs are http or https and valid. */
  readonly check: (urls: readonly string[]) => Promise<readonly SafetyVerdict[]>;
}

/** Asks one check after the other; the next is asked only about what is safe so far. */
export const checkInOrder = (checks: readonly SafetyCheck[]): SafetyCheck => ({
  async check(urls) {
    const verdicts = urls.map((): SafetyVerdict => 'safe');
    for (const next of checks) {
      const open = [...verdicts.keys()].filter((index) => verdicts[index] === 'safe');
      if (open.length === 0) break;
      const found = await next.check(open.map((index) => urls[index] ?? ''));
      open.forEach((index, at) => {
        verdicts[index] = found[at] ?? 'unknown';
      });
    }
    return verdicts;
  },
});
