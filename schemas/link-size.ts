import type { RedirectRule } from './redirect-rules.js';

/** The options of a link as JSON, so that readers of many links need bounded memory. */
const maxLinkBytes = 65_536;

export const linkTooLarge = 'A link has at most 64 KiB';

/** The options whose size varies. */
interface SizedOptions {
  readonly url: string;
  readonly title: string | null;
  readonly note: string | null;
  readonly tags: readonly string[] | null;
  readonly rules: readonly RedirectRule[] | null;
}

/** Whether the options of a link fit. Without rules, their own bounds are far below the limit. */
export const fitsInLink = ({ url, title, note, tags, rules }: SizedOptions): boolean =>
  rules === null ||
  new TextEncoder().encode(JSON.stringify({ url, title, note, tags, rules })).length <=
    maxLinkBytes;
