import type Router from '@koa/router';
import { z } from 'zod';
import {
  changeKeyRequest,
  createKeyRequest,
  type KeyResponse,
  type KeyWithUsageResponse,
} from '../../../schemas/http/keys.js';
import type { PlanTable } from '../../../schemas/plans.js';
import { issueKey } from '../../issue-key.js';
import type { ApiKeyDesk, ApiKeyOutcome, KeyWithUsage, KnownKey } from '../../ledger/api-keys.js';
import { failure, json, type Reply } from '../reply.js';
import { route } from '../routing.js';
import type { AdminState } from './app.js';
import { pageLimit, withBody, withQuery } from './requests.js';

const pageQuery = z.object({
  limit: pageLimit.default(100),
  after: z.string({ error: 'after must be given once' }).nullable().default(null),
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
export const addKeyRoutes = (router: Router, desk: ApiKeyDesk, { plans }: PlanTable): void => {
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

  const replyTo = (outcome: ApiKeyOutcome): Reply => {
    if (outcome.type === 'done') return json(200, keyOf(outcome.state));
    return outcome.reason === 'unknown'
      ? failure(404, 'API key not found')
      : failure(409, 'This API key has been revoked');
  };

  router.post(
    '/keys',
    route<AdminState>((ctx, { asker }) =>
      withBody(ctx, createKeyRequest, async (request) => {
        const { token, state } = await issueKey(desk, request, asker);
        return json(201, { ...keyOf(state), key: token });
      }),
    ),
  );

  router.get(
    '/keys',
    route((ctx) =>
      withQuery(ctx, pageQuery, async ({ limit, after }) => {
        const keys = await desk.list(limit + 1, after);
        const page = keys.slice(0, limit);
        const next = keys.length > limit ? (page.at(-1)?.state.key.id ?? null) : null;
        return json(200, { keys: page.map(withUsage), next });
      }),
    ),
  );

  router.get(
    '/keys/:id',
    route(async (_ctx, _state, parameter) => {
      const found = await desk.find(parameter('id'));
      return found ? json(200, withUsage(found)) : failure(404, 'API key not found');
    }),
  );

  router.patch(
    '/keys/:id',
    route<AdminState>((ctx, { asker }, parameter) =>
      withBody(ctx, changeKeyRequest, async (change) =>
        replyTo(await desk.handle(parameter('id'), { type: 'ChangeApiKey', ...change }, asker)),
      ),
    ),
  );

  router.delete(
    '/keys/:id',
    route<AdminState>(async (_ctx, { asker }, parameter) =>
      replyTo(await desk.handle(parameter('id'), { type: 'RevokeApiKey' }, asker)),
    ),
  );
};
