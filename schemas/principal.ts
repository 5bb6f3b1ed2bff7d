import type { PlanName } from './plans.js';
import type { Scope } from './scopes.js';

/** Who may call: a key by its secret, or a person by its role in an account. Limits are those of the root key. */
export interface Principal {
  /** Of the key or the person; the actor of changes. */
  readonly id: string;
  /** The key whose limits it shares; of a person, the oldest active root of the account. */
  readonly rootId: string;
  readonly name: string;
  /** The plan of the root. */
  readonly plan: PlanName;
  readonly account: string;
  readonly scopes: readonly Scope[];
}
