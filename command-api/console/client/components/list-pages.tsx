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
    <nav class="row" aria-label="Pages of the list">
      {first !== null && (
        <a class="button" href={first}>
          First page
        </a>
      )}
      {next !== null && (
        <a class="button" href={next}>
          {isEmpty ? 'Search on' : 'Next page'}
        </a>
      )}
    </nav>
  );
};
