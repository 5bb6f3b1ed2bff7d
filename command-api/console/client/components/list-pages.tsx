import { texts } from '../../texts.js';

const text = texts.components;

/** Links to other pages of the list. */
export const ListPages = (props: {
  readonly first: string | null;
  /** Absent or `null`: unknown, or the first page. */
  readonly previous?: string | null;
  readonly next: string | null;
  /** Whether this page is empty, because the API found nothing yet. */
  readonly isEmpty?: boolean;
}) => {
  const { first, previous = null, next, isEmpty = false } = props;
  if (first === null && next === null) return null;
  const pages = [
    [first, text.firstPage],
    [previous === first ? null : previous, text.previousPage],
    [next, isEmpty ? text.searchOn : text.nextPage],
  ] as const;
  return (
    <nav class="row" aria-label={text.listPages}>
      {pages.map(
        ([href, title]) =>
          href !== null && (
            <a key={title} class="button" href={href}>
              {title}
            </a>
          ),
      )}
    </nav>
  );
};
