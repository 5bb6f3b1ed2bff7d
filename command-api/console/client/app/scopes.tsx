import { createContext, type ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import type { Scope } from '../../../../schemas/scopes.js';
import { texts } from '../../texts.js';
import { richText } from '../components/rich-text.js';

/** Those of the session's key. Operators have none. */
export const Scopes = createContext<readonly Scope[]>([]);

export const useScope = (scope: Scope): boolean => useContext(Scopes).includes(scope);

interface Props {
  readonly scope: Scope;
  readonly children?: ComponentChildren;
}

/** Content that needs a scope. Without the scope, names it. */
export const NeedsScope = ({ scope, children }: Props) =>
  useScope(scope) ? (
    <>{children}</>
  ) : (
    <p>
      {richText(texts.components.needsScope, {
        name: texts.keys.scopes[scope],
        scope: <code>{scope}</code>,
      })}
    </p>
  );
