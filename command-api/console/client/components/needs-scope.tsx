import type { Scope } from '../../../../schemas/scopes.js';
import { texts } from '../../texts.js';
import { richText } from './rich-text.js';

/** In place of content for which the key of the session lacks a scope. */
export const NeedsScope = ({ scope }: { readonly scope: Scope }) => (
  <p>
    {richText(texts.components.needsScope, {
      name: texts.keys.scopes[scope],
      scope: <code>{scope}</code>,
    })}
  </p>
);
