import { createContext, type ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import type { Scope } from '../../../../schemas/scopes.js';
import { texts } from '../../texts.js';
import { richText } from '../components/rich-text.js';

/** What pages know of the owner of the session. */
interface Owned {
  /** Those of the session's key. Operators have none. */
  readonly scopes: readonly Scope[];
  /** Of the key or person. */
  readonly keyId: string | null;
  /** The page of the plans; `null`: none. */
  readonly plansUrl: string | null;
  readonly shortUrlHost: string;
  /** Whether the session can change nothing, like those of auditors. */
  readonly isReadOnly: boolean;
}

export const Owner = createContext<Owned>({
  scopes: [],
  keyId: null,
  plansUrl: null,
  shortUrlHost: location.origin,
  isReadOnly: false,
});

export const useOwner = (): Owned => useContext(Owner);

export const useScope = (scope: Scope): boolean => useOwner().scopes.includes(scope);

export interface ScopeProps {
  readonly scope: Scope;
  readonly children?: ComponentChildren;
}

/** Content that needs a scope. Without the scope, names it. */
export const NeedsScope = ({ scope, children }: ScopeProps) =>
  useScope(scope) ? (
    <>{children}</>
  ) : (
    <p>
      {richText(texts.components.needsScope, {
        name: texts.scopes[scope],
        scope: <code>{scope}</code>,
      })}
    </p>
  );
