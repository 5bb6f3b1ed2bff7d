import { customAlphabet } from 'nanoid';
import { v7 as uuidv7 } from 'uuid';
import type { Receipt } from '../ops/platform/outbox/port.js';
import type { PlanName } from '../schemas/plans.js';
import { hashKeyToken, keyAlphabet, keySecretLength, keyToken } from './domain/key-token.js';
import type { KnownKey } from '../ops/ledger/api-keys.js';
import type { Actor } from '../schemas/decision.js';
import type { ApiKeyHandler } from './ledger/api-keys.js';

const randomSecret = customAlphabet(keyAlphabet, keySecretLength);

/** A new key, and its token, which is shown this once and kept nowhere. */
export interface IssuedKey {
  readonly token: string;
  readonly state: KnownKey;
  readonly receipt: Receipt;
}

export const issueKey = async (
  handler: ApiKeyHandler,
  key: { readonly name: string; readonly plan: PlanName; readonly account: string },
  actor: Actor,
): Promise<IssuedKey> => {
  const token = keyToken(randomSecret());
  const id = uuidv7();
  const command = { type: 'CreateApiKey', id, ...key, hash: hashKeyToken(token) } as const;
  const outcome = await handler.handle(id, command, actor);
  if (outcome.type === 'refused') throw new Error(`A new key was refused: ${outcome.reason}`);
  return { token, state: outcome.state, receipt: outcome.receipt };
};
