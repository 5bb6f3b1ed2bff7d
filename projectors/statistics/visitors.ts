/** Visitors of a day that are stored in the link's row; more are stored in their own rows. */
const maxInline = 32;

/** Characters of a visitor. */
const length = 16;

/**
 * The distinct visitors of a link on one UTC day. The column of its row is their concatenation in order of appearance;
 * `null` if they are stored in their own rows.
 */
export class Visitors {
  readonly isInRows: boolean;
  #inline: string;
  /** If they are in rows, the new visitors of this batch that were not counted yet. */
  readonly #unseen: Set<string> | null;

  constructor(column: string | null = '') {
    this.isInRows = column === null;
    this.#inline = column ?? '';
    this.#unseen = this.isInRows ? new Set() : null;
  }

  /** Marks a visitor in rows as new. */
  expect(visitor: string): void {
    this.#unseen?.add(visitor);
  }

  add(visitor: string): boolean {
    if (this.#unseen) return this.#unseen.delete(visitor);
    let at = this.#inline.indexOf(visitor);
    // Skips matches that span two visitors.
    while (at % length > 0) at = this.#inline.indexOf(visitor, at + 1);
    if (at >= 0) return false;
    this.#inline += visitor;
    return true;
  }

  column(): string | null {
    return this.isInRows || this.#inline.length > maxInline * length ? null : this.#inline;
  }

  newRows(): readonly string[] {
    return !this.isInRows && this.column() === null ? (this.#inline.match(/.{16}/g) ?? []) : [];
  }
}
