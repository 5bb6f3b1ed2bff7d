import type Router from '@koa/router';
import { z } from 'zod';
import {
  changeKeyRequest,
  createKeyRequest,
  type KeyResponse,
  type KeyWithUsageResponse,
} from '../../../schemas/http/keys.js';
import type { PlanTable } from '../../../schemas/plans.js';
import type { ApiKeyCommand } from '../../domain/api-key.js';
import type { ApiKeyHandler, ApiKeyOutcome, KeyWithUsage } from '../../ledger/api-keys.js';
import type { KnownKey } from '../../../ops/ledger/api-keys.js';
import type { Actor } from '../../../schemas/decision.js';
import { failure, json, type Reply } from '../reply.js';
import { route } from '../requests.js';
import { pageLimit, withBody, withQuery, type AdminState, type Settle } from './requests.js';

/** Ids are UUIDs; what is none (PostgreSQL would choke on a null character) names no key. */
const keyId = /^[0-9a-f-]{36}$/;

const pageQuery = z.object({
  limit: pageLimit.default(100),
  after: z
    .string({ error: 'after must be given once' })
    .regex(keyId, { error: 'after must be the id of a key' })
    .nullable()
    .default(null),
});

const keyOf = ({ status, key }: KnownKey): KeyResponse => ({
  id: key.id,
  name: key.name,
  plan: key.plan,
  account: key.account,
  active: status === 'active',
  createdAt: key.createdAt.toISOString(),
});

/** The admin calls for keys. */
export const addKeyRoutes = (
  router: Router,
  handler: ApiKeyHandler,
  { plans }: PlanTable,
  settle: Settle,
): void => {
  const withUsage = (found: KeyWithUsage): KeyWithUsageResponse => ({
    ...keyOf(found.state),
    usage: {
      minute: {
        used: found.minuteCalls,
        limit: plans[found.state.key.plan].requestsPerMinute,
      },
      month: {
        month: found.month,
        calls: found.calls,
        links: found.links,
        qrCodes: found.qrCodes,
      },
    },
  });

  const unknownKey = (): Reply => failure(404, 'API key not found');

  const replyTo = (outcome: ApiKeyOutcome): Promise<Reply> | Reply => {
    if (outcome.type === 'done') return settle(outcome.receipt, 200, keyOf(outcome.state));
    return outcome.reason === 'unknown'
      ? unknownKey()
      : failure(409, 'This API key has been revoked');
  };

  const change = async (id: string, command: ApiKeyCommand, actor: Actor): Promise<Reply> =>
    keyId.test(id) ? replyTo(await handler.handle(id, command, actor)) : unknownKey();

  router.post(
    '/keys',
    route<AdminState>((ctx, { actor }) =>
      withBody(ctx, createKeyRequest, async (request) => {
        const { token, state, receipt } = await handler.issue(request, actor);
        return settle(receipt, 201, { ...keyOf(state), key: token });
      }),
    ),
  );

  router.get(
    '/keys',
    route((ctx) =>
      withQuery(ctx, pageQuery, async ({ limit, after }) => {
        const keys = await handler.list(limit + 1, after);
        const page = keys.slice(0, limit);
        const next = keys.length > limit ? (page.at(-1)?.state.key.id ?? null) : null;
        return json(200, { keys: page.map(withUsage), next });
      }),
    ),
  );

  router.get(
    '/keys/:id',
    route(async (_ctx, _state, parameter) => {
      const id = parameter('id');
      const found = keyId.test(id) ? await handler.find(id) : null;
      return found ? json(200, withUsage(found)) : unknownKey();
    }),
  );

  router.patch(
    '/keys/:id',
    route<AdminState>((ctx, { actor }, parameter) =>
      withBody(ctx, changeKeyRequest, (changes) =>
        change(parameter('id'), { type: 'ChangeApiKey', ...changes }, actor),
      ),
    ),
  );

  router.delete(
    '/keys/:id',
    route<AdminState>((_ctx, { actor }, parameter) =>
      change(parameter('id'), { type: 'RevokeApiKey' }, actor),
    ),
  );
};
