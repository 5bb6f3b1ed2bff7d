import type { RedirectRule } from '../redirect-rules.js';

/** Valid rules of some 400 KB. */
export const largeRules: RedirectRule[] = Array.from({ length: 20 }, (_, rule) => ({
  name: `r${rule}`,
  when: {},
  split: Array.from({ length: 10 }, (_unused, entry) => ({
    name: `e${entry}`,
    url: `https://example.com/${'x'.repeat(1_990)}`,
    weight: 1,
  })),
}));
