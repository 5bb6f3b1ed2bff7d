/** A Map of at most `max` entries, which evicts the entry that was set first. */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  constructor(private readonly max: number) {
    super();
  }

  override set(key: Key, value: Value): this {
    this.delete(key);
    super.set(key, value);
    if (this.size > this.max) this.delete(this.keys().next().value as Key);
    return this;
  }
}

/** `Map.groupBy`, which Node 20 does not have. */
export const groupBy = <Key, Item>(
  items: Iterable<Item>,
  keyOf: (item: Item) => Key,
): Map<Key, Item[]> => {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
};

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

/** The item of a list of one. */
export const only = <Item>([item]: readonly Item[]): Item => {
  if (item === undefined) throw new Error('a list of 1 item is empty');
  return item;
};
