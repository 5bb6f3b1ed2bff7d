import type { Outbox, OutboxDelivery } from '../../ops/event-log/outbox/port.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { rootIdOf } from '../../schemas/folds/api-key.js';
import { messages } from '../../schemas/http/errors.js';
import {
  changeOwnKeyRequest,
  keyIdPattern,
  makeKeyRequest,
  ownKeysQuery,
  rotateKeyRequest,
  type OwnKeyResponse,
} from '../../schemas/http/keys.js';
import { maxLiveKeys, maxSecrets, type ApiKeyRefusal } from './command.js';
import {
  createApiKeyHandler,
  type ApiKeyOutcome,
  type CallingKey,
  type DoneWithKey,
  type KeyOwnerCommand,
  type KeyWithUsage,
} from './handler.js';
import { failure, json, noContent, unavailable, type Reply } from '../http/reply.js';
import { parseJsonAs, parseQuery, type Handler } from '../http/requests.js';
import { logWithinMs } from '../links/create/route.js';
import {
  keyInvalid,
  scopeLacking,
  usageOf,
  type PlanDeps,
  type V2State,
} from '../admission/admitted-call.js';

export interface KeyDeps extends Pick<PlanDeps, 'plans'> {
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

  const toResponse = (
    { state: { key, status }, plan, lastUsedAt }: KeyWithUsage,
    { call }: V2State,
  ): OwnKeyResponse => ({
    id: key.id,
    name: key.name,
    plan,
    scopes: [...key.scopes],
    active: status === 'active',
    rootId: rootIdOf(key),
    expiresAt: key.expiresAt?.toISOString() ?? null,
    createdAt: key.createdAt.toISOString(),
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
    usage: usageOf(call, plans),
  });

  /** The response to a command: of a change, as soon as the log has it. */
  const respond = async (
    outcome: ApiKeyOutcome,
    respondTo: (done: DoneWithKey) => Promise<Reply> | Reply,
  ): Promise<Reply> => {
    if (outcome.type === 'refused') {
      const { refusal } = outcome;
      return refusal.type === 'scopeLacking' ? scopeLacking(refusal.scope) : refusals[refusal.type];
    }
    return (await delivery.published(outcome.outboxPosition, logWithinMs))
      ? respondTo(outcome)
      : unavailable(messages.logUnavailable);
  };

  const withKey =
    (state: V2State, status: 200 | 201, more: { readonly key?: string } = {}) =>
    async ({ state: { key } }: DoneWithKey): Promise<Reply> => {
      const found = await keys.find(key.id);
      return found ? json(status, { ...toResponse(found, state), ...more }) : unknownKey;
    };

  const change = async (
    state: V2State,
    id: string,
    command: KeyOwnerCommand,
    respondTo: (done: DoneWithKey) => Promise<Reply> | Reply,
  ): Promise<Reply> =>
    keyIdPattern.test(id)
      ? respond(await keys.handleFor(callingKeyOf(state), id, command), respondTo)
      : unknownKey;

  const list: Handler<V2State> = async (ctx, state) => {
    const query = parseQuery(ownKeysQuery, ctx);
    if (query.type === 'refused') return query.reply;
    const { limit, after } = query.value;
    const found = await keys.listFor(state.call.key, limit + 1, after ?? null);
    const page = found.slice(0, limit);
    const next = found.length > limit ? (page.at(-1)?.state.key.id ?? null) : null;
    return json(200, { keys: page.map((key) => toResponse(key, state)), next });
  };

  const make: Handler<V2State> = async (_ctx, state) => {
    const request = parseJsonAs(makeKeyRequest, state.body, state);
    if (request.type === 'refused') return request.reply;
    const outcome = await keys.derive(callingKeyOf(state), request.value);
    return respond(outcome, withKey(state, 201, { key: outcome.token }));
  };

  const patch: Handler<V2State> = async (_ctx, state, parameter) => {
    const request = parseJsonAs(changeOwnKeyRequest, state.body, state);
    if (request.type === 'refused') return request.reply;
    const { name, active, scopes } = request.value;
    const data = {
      name: name ?? undefined,
      active: active ?? undefined,
      scopes: scopes ?? undefined,
    };
    return change(state, parameter('id'), { type: 'ChangeApiKey', data }, withKey(state, 200));
  };

  const rotate: Handler<V2State> = async (_ctx, state, parameter) => {
    const request = parseJsonAs(rotateKeyRequest, state.body, state);
    if (request.type === 'refused') return request.reply;
    const id = parameter('id');
    if (!keyIdPattern.test(id)) return unknownKey;
    const outcome = await keys.rotate(callingKeyOf(state), id, request.value.overlapSeconds ?? 0);
    return respond(outcome, withKey(state, 200, { key: outcome.token }));
  };

  const revoke: Handler<V2State> = (_ctx, state, parameter) =>
    change(state, parameter('id'), { type: 'RevokeApiKey', data: {} }, () => noContent());

  return {
    getKeys: list,
    makeKey: make,
    changeKey: patch,
    rotateKey: rotate,
    revokeKey: revoke,
  };
};
