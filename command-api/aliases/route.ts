import { aliasOverrides } from '../../ops/ledger/alias-overrides.js';
import { decideOne } from '../../ops/ledger/decide.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { Actor } from '../../schemas/decision.js';
import { messages } from '../../schemas/http/errors.js';
import type { OverridePage } from '../../schemas/http/operators.js';
import { aliasPattern } from '../../schemas/link-subject.js';
import type { AdminHandlers } from '../http/operator-requests.js';
import { failure, json, pageOf } from '../http/reply.js';
import { aliasOverrideDecider } from './command.js';
import { isReservedAlias } from './forbidden-aliases.js';

const invalidAlias = 'Alias must have 3 to 50 letters, numbers, hyphens and underscores';

/** Reads the overrides after an alias, in the order of aliases. */
const listAliasOverrides = async (
  pool: Pool,
  {
    after,
    alias = null,
    limit,
  }: { after: string; alias?: string | undefined | null; limit: number },
): Promise<OverridePage> => {
  const { rows } = await pool.query<{ alias: string; account: string; since: Date }>({
    name: 'overrides-list',
    text: `SELECT alias, account, last_event_at AS since FROM ledger.alias_overrides
           WHERE account IS NOT NULL AND alias > $1 AND ($2::text IS NULL OR alias = lower($2))
           ORDER BY alias LIMIT $3`,
    values: [after, alias, limit + 1],
  });
  const { page, next } = pageOf(rows, limit, ({ alias }) => alias);
  return {
    overrides: page.map(({ since, ...override }) => ({ ...override, since: since.toISOString() })),
    next,
  };
};

const isAccount = async (pool: Pool, account: string): Promise<boolean> => {
  const found = await pool.query(
    `SELECT FROM ledger.api_keys WHERE account = $1 AND status <> 'revoked' LIMIT 1`,
    [account],
  );
  return found.rowCount === 1;
};

export const overrideHandlers = (({ respond, ...ledger }) => {
  const set = (alias: string, account: string | null, metadata: Actor) =>
    decideOne(ledger, aliasOverrides, aliasOverrideDecider, {
      type: 'SetAliasOverride',
      subject: alias,
      data: { account },
      metadata,
    });
  return {
    async listOverrides({ query }) {
      const page = await listAliasOverrides(ledger.pool, query);
      const reserved = query.alias !== undefined && { reserved: isReservedAlias(query.alias) };
      return json(200, { ...page, ...reserved });
    },

    async allowAlias({ body: { account }, state, parameter }) {
      const alias = parameter('alias').toLowerCase();
      if (!aliasPattern.test(alias)) return failure(400, invalidAlias);
      if (!isReservedAlias(alias)) return failure(400, 'The alias is not reserved');
      if (!(await isAccount(ledger.pool, account))) return failure(400, messages.accountWithoutKey);
      const { outboxPosition } = await set(alias, account, state.actor);
      return respond(outboxPosition, 200, { alias, account });
    },

    async disallowAlias({ state, parameter }) {
      const alias = parameter('alias').toLowerCase();
      if (aliasPattern.test(alias)) {
        const { decision, outboxPosition } = await set(alias, null, state.actor);
        if (decision.type === 'accepted')
          return respond(outboxPosition, 200, { alias, account: null });
      }
      return failure(404, 'Override not found');
    },
  };
}) satisfies AdminHandlers;
