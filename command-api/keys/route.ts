import type { Outbox, OutboxDelivery } from '../../ops/event-log/outbox/port.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { messages } from '../../schemas/http/errors.js';
import { keyIdPattern } from '../../schemas/http/keys.js';
import { maxLiveKeys, maxSecrets, type ApiKeyRefusal } from './command.js';
import {
  createApiKeyHandler,
  type ApiKeyOutcome,
  type CallingKey,
  type DoneWithKey,
  type KeyOwnerCommand,
} from './handler.js';
import {
  failure,
  json,
  noContent,
  pageOf,
  unavailable,
  whenPublished,
  type Reply,
} from '../http/reply.js';
import { ownKeyOf } from './view.js';
import type { V2Handlers } from '../http/row-handlers.js';
import {
  keyInvalid,
  scopeLacking,
  usageOf,
  type PlanDeps,
  type V2State,
} from '../admission/admitted-call.js';

interface KeyDeps extends Pick<PlanDeps, 'plans'> {
  readonly pool: Pool;
  readonly outbox: Outbox;
  readonly delivery: OutboxDelivery;
}

const unknownKey = failure(404, messages.keyNotFound);

const refusals: Readonly<Record<Exclude<ApiKeyRefusal['type'], 'scopeLacking'>, Reply>> = {
  unknown: unknownKey,
  // A revoked key is hidden from the keys of the account.
  revoked: unknownKey,
  callerInvalid: keyInvalid,
  suspended: failure(403, messages.keySuspended),
  deactivatedAbove: failure(403, messages.keyDeactivatedAbove),
  tooManyKeys: failure(400, `At most ${maxLiveKeys} keys an account`),
  tooDeep: failure(400, messages.keyTooDeep),
  tooManySecrets: failure(400, `At most ${maxSecrets} secrets a key`),
  // Not possible for commands of a key.
  exists: unavailable(),
  planOfRoot: unavailable(),
};

const callingKeyOf = ({ call, requestId, traceparent }: V2State): CallingKey => ({
  ...call.key,
  ...{ requestId, traceparent },
});

/** `/v2/keys`: commands of a key on itself and its descendants. */
export const createKeyHandlers = ({ pool, outbox, delivery, plans }: KeyDeps) => {
  const keys = createApiKeyHandler(pool, outbox);

  /** The response to a command: of a change, as soon as the log has it. */
  const respond = (
    state: V2State,
    outcome: ApiKeyOutcome,
    respondTo: (done: DoneWithKey) => Promise<Reply> | Reply,
  ): Promise<Reply> | Reply => {
    if (outcome.type === 'refused') {
      const { refusal } = outcome;
      return refusal.type === 'scopeLacking'
        ? scopeLacking(refusal.scope, state.call.key)
        : refusals[refusal.type];
    }
    return whenPublished(delivery, outcome.outboxPosition, () => respondTo(outcome));
  };

  const withKey =
    (state: V2State, status: 200 | 201, more: { readonly key?: string } = {}) =>
    async ({ state: { key } }: DoneWithKey): Promise<Reply> => {
      const found = await keys.find(key.id);
      if (!found) return unknownKey;
      return json(status, {
        ...ownKeyOf(found, usageOf(state.call, plans), state.call.key.id),
        ...more,
      });
    };

  const change = async (
    state: V2State,
    id: string,
    command: KeyOwnerCommand,
    respondTo: (done: DoneWithKey) => Promise<Reply> | Reply,
  ): Promise<Reply> =>
    keyIdPattern.test(id)
      ? respond(state, await keys.handleFor(callingKeyOf(state), id, command), respondTo)
      : unknownKey;

  return {
    async getKeys({ query: { limit, after = null }, state }) {
      const caller = state.call.key;
      const found = await keys.listFor(caller, limit + 1, after);
      const { page, next } = pageOf(found, limit, (last) => last.state.key.id);
      const usage = usageOf(state.call, plans);
      return json(200, { keys: page.map((key) => ownKeyOf(key, usage, caller.id)), next });
    },

    async makeKey({ body, state }) {
      const outcome = await keys.derive(callingKeyOf(state), body);
      return respond(state, outcome, withKey(state, 201, { key: outcome.token }));
    },

    changeKey({ body: { name, active, scopes }, state, parameter }) {
      const data = {
        name: name ?? undefined,
        active: active ?? undefined,
        scopes: scopes ?? undefined,
      };
      return change(state, parameter('id'), { type: 'ChangeApiKey', data }, withKey(state, 200));
    },

    async rotateKey({ body: { overlapSeconds }, state, parameter }) {
      const id = parameter('id');
      if (!keyIdPattern.test(id)) return unknownKey;
      const outcome = await keys.rotate(callingKeyOf(state), id, overlapSeconds ?? 0);
      return respond(state, outcome, withKey(state, 200, { key: outcome.token }));
    },

    revokeKey: ({ state, parameter }) =>
      change(state, parameter('id'), { type: 'RevokeApiKey', data: {} }, () => noContent()),
  } satisfies Partial<V2Handlers>;
};
