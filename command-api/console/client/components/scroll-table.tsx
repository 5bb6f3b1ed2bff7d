import type { ComponentChildren } from 'preact';

interface Props {
  /** For screen readers. */
  readonly label: string;
  readonly columns: readonly (string | { readonly number: string })[];
  /** Whether long tables scroll within the page. */
  readonly isPreview?: boolean;
  /** The rows. */
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
      <tbody>{children}</tbody>
    </table>
  </div>
);
