/** Visitors of a day that the link's own row holds; more of them are rows of a table. */
const inlineAtMost = 32;

/**
 * The different visitors of a link on one UTC day. The column of its row has them one after the other, in the
 * order in which they came; `null`: rows of a table have them.
 */
export class Visitors {
  readonly isInRows: boolean;
  /** All of them; of those in rows, the ones of this batch that are in no row and were not counted yet. */
  readonly #visitors: Set<string>;

  constructor(column: string | null = '') {
    this.isInRows = column === null;
    this.#visitors = new Set(column?.match(/.{16}/g));
  }

  /** Says of a visitor of those in rows that no row has had it. */
  expect(visitor: string): void {
    this.#visitors.add(visitor);
  }

  /** Whether the visitor comes for the first time; from now on it does not any more. */
  add(visitor: string): boolean {
    if (this.isInRows) return this.#visitors.delete(visitor);
    if (this.#visitors.has(visitor)) return false;
    this.#visitors.add(visitor);
    return true;
  }

  column(): string | null {
    return this.isInRows || this.#visitors.size > inlineAtMost
      ? null
      : [...this.#visitors].join('');
  }

  /** Those that are to be rows from now on. */
  newRows(): readonly string[] {
    return !this.isInRows && this.column() === null ? [...this.#visitors] : [];
  }
}
