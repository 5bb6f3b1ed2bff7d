import { texts } from '../../texts.js';

const text = texts.components;

/** Links to other pages of the list. */
export const ListPages = (props: {
  readonly first: string | null;
  readonly next: string | null;
  /** Whether this page is empty, because the API found nothing yet. */
  readonly isEmpty?: boolean;
}) => {
  const { first, next, isEmpty = false } = props;
  if (first === null && next === null) return null;
  return (
    <nav class="row" aria-label={text.listPages}>
      {first !== null && (
        <a class="button" href={first}>
          {text.firstPage}
        </a>
      )}
      {next !== null && (
        <a class="button" href={next}>
          {isEmpty ? text.searchOn : text.nextPage}
        </a>
      )}
    </nav>
  );
};
