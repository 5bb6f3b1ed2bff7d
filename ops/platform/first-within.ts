/** The first items whose sizes have at most the sum `max`; at least one if there is one. */
export const firstWithin = <Item>(
  items: readonly Item[],
  max: number,
  sizeOf: (item: Item) => number,
): readonly Item[] => {
  let size = 0;
  const end = items.findIndex((item, index) => {
    size += sizeOf(item);
    return size > max && index > 0;
  });
  return end === -1 ? items : items.slice(0, end);
};
