import type { ComponentChildren } from 'preact';
import type { Scope } from '../../../../schemas/scopes.js';
import { texts } from '../../texts.js';

/** In place of content for which the key of the session lacks a scope. */
export const NeedsScope = ({ scope }: { readonly scope: Scope }) => (
  <p>
    {richText(texts.components.needsScope, {
      name: texts.keys.scopes[scope],
      scope: <code>{scope}</code>,
    })}
  </p>
);

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
