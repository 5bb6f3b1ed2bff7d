import type { ComponentChildren } from 'preact';
import { texts } from '../../texts.js';

const text = texts.components;

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

type Figure = readonly [label: string, value: string, isBad?: boolean];

/** Numbers that belong together. */
export const Figures = ({ figures }: { readonly figures: readonly Figure[] }) => (
  <dl class="figures">
    {figures.map(([label, value, isBad = false]) => (
      <div key={label}>
        <dt>{label}</dt>
        <dd class={`figure ${isBad ? 'bad' : ''}`}>{value}</dd>
      </div>
    ))}
  </dl>
);

interface HeadProps {
  readonly columns: readonly (string | { readonly number: string })[];
}

export const TableHead = ({ columns }: HeadProps) => (
  <thead>
    <tr>
      {columns.map((column) =>
        typeof column === 'string' ? (
          <th key={column} scope="col">
            {column}
          </th>
        ) : (
          <th key={column.number} scope="col" class="number">
            {column.number}
          </th>
        ),
      )}
    </tr>
  </thead>
);

interface Props extends HeadProps {
  /** Read by screen readers. */
  readonly label: string;
  /** Whether long tables scroll within the page. */
  readonly isPreview?: boolean;
  readonly children: ComponentChildren;
}

/** A table that scrolls sideways on narrow screens, also by keyboard. */
export const ScrollTable = ({ label, columns, isPreview = false, children }: Props) => (
  <div
    class={isPreview ? 'scroll preview' : 'scroll'}
    tabIndex={0}
    role="region"
    aria-label={label}
  >
    <table>
      <TableHead columns={columns} />
      <tbody>{children}</tbody>
    </table>
  </div>
);
