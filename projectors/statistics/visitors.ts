/** Visitors of a day that the link's own row holds; more of them are rows of a table. */
const inlineAtMost = 32;

/** Characters of a visitor. */
const length = 16;

/**
 * The different visitors of a link on one UTC day. The column of its row has them one after the other, in the
 * order in which they came; `null`: rows of a table have them.
 */
export class Visitors {
  readonly isInRows: boolean;
  #inline: string;
  /** Of those in rows: the ones of this batch that are in no row and were not counted yet. */
  readonly #unseen: Set<string> | null;

  constructor(column: string | null = '') {
    this.isInRows = column === null;
    this.#inline = column ?? '';
    this.#unseen = this.isInRows ? new Set() : null;
  }

  /** Says of a visitor of those in rows that no row has had it. */
  expect(visitor: string): void {
    this.#unseen?.add(visitor);
  }

  /** Whether the visitor comes for the first time; from now on it does not any more. */
  add(visitor: string): boolean {
    if (this.#unseen) return this.#unseen.delete(visitor);
    let at = this.#inline.indexOf(visitor);
    // Not the end of one visitor and the beginning of the next.
    while (at % length > 0) at = this.#inline.indexOf(visitor, at + 1);
    if (at >= 0) return false;
    this.#inline += visitor;
    return true;
  }

  column(): string | null {
    return this.isInRows || this.#inline.length > inlineAtMost * length ? null : this.#inline;
  }

  /** Those that are to be rows from now on. */
  newRows(): readonly string[] {
    return !this.isInRows && this.column() === null ? (this.#inline.match(/.{16}/g) ?? []) : [];
  }
}
