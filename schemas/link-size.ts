import { noOptions, type LinkOptions } from './link-options.js';

/** The options of a link as JSON, so that readers of many links need bounded memory. */
const maxLinkBytes = 65_536;

export const linkTooLarge = 'A link has at most 64 KiB';

/** The fields whose size varies. */
export interface SizedFields {
  readonly url: string;
  readonly title: string | null;
  readonly note: string | null;
  readonly tags: readonly string[] | null;
  readonly options: LinkOptions;
}

/** Whether the options of a link fit. Without `options`, their own bounds are far below the limit. */
export const fitsInLink = ({ url, title, note, tags, options }: SizedFields): boolean =>
  options === noOptions ||
  new TextEncoder().encode(JSON.stringify({ url, title, note, tags, ...options })).length <=
    maxLinkBytes;
