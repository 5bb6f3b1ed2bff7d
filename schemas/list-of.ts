import { z } from 'zod';

/**
 * An array from outside. Its length is checked before its elements, because a body has room for 250,000 of them. Too
 * long or too short, and no array at all, are the same error.
 */
export const listOf = <Item extends z.ZodType>(
  item: Item,
  { min = 0, max, error }: { readonly min?: number; readonly max: number; readonly error: string },
) => {
  const list = z.array(item, { error }).max(max, error);
  return z.preprocess(
    (value) => (Array.isArray(value) && value.length > max ? null : value),
    min === 0 ? list : list.min(min, error),
  );
};
