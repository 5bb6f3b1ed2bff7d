import { texts } from '../../texts.js';

const text = texts.links;

/** The maximum of `count`. */
const maxCount = 1_000;

/** The number of matches of a list, if the service counted them. */
export const LinkCount = ({ count }: { readonly count: number | null | undefined }) =>
  count == null ? null : (
    <p role="status">{(count < maxCount ? text.count : text.countAtLeast)(count)}</p>
  );
