/** The parameters that analytics tools read, without `utm_`. */
export const utmNames = ['source', 'medium', 'campaign', 'term', 'content'] as const;

export type UtmName = (typeof utmNames)[number];

/** An object with a value for each parameter. */
export const byUtmName = <Value>(valueOf: (name: UtmName) => Value): Record<UtmName, Value> =>
  Object.fromEntries(utmNames.map((name) => [name, valueOf(name)])) as Record<UtmName, Value>;
