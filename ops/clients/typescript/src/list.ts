/** A list of the API: iterates over its items, page by page as they are needed. Each iteration starts again. */
export class List<Item, Page> implements AsyncIterable<Item> {
  /** @param fetch the page after a cursor; `undefined`: the first one */
  constructor(
    private readonly fetch: (after: unknown) => Promise<Page>,
    private readonly itemsOf: (page: Page) => readonly Item[],
  ) {}

  /** The pages, as the API returns them. */
  async *pages(): AsyncGenerator<Page, void, void> {
    let after: unknown;
    do {
      const page = await this.fetch(after);
      yield page;
      // Some lists have one page, without `next`.
      after = (page as { readonly next?: unknown }).next ?? undefined;
    } while (after !== undefined);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, void> {
    for await (const page of this.pages()) yield* this.itemsOf(page);
  }
}
