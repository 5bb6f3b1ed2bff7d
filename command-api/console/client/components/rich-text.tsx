import type { ComponentChildren } from 'preact';

/**
 * A text of the catalogue with elements in place of its placeholders, such as `by {actor}`.
 *
 * @param elements by placeholder
 */
export const richText = (
  text: string,
  elements: Readonly<Record<string, ComponentChildren>>,
): ComponentChildren =>
  // With a capturing group, every second part is a placeholder.
  text.split(/\{(\w+)\}/).map((part, index) => (index % 2 === 0 ? part : elements[part]));
