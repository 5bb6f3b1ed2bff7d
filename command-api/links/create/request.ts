import { customAlphabet } from 'nanoid';
import type { PasswordHasher } from '../../../ops/platform/passwords/password-hasher.js';
import type { Pool } from '../../../ops/platform/postgres/pool.js';
import type { CommandRequest } from '../../../schemas/decision.js';
import { messages } from '../../../schemas/http/errors.js';
import {
  batchItemRequest,
  shortenRequest,
  type ShortenRequest,
} from '../../../schemas/http/shorten.js';
import type { AdmittedCall } from '../../admission/rate-limits.js';
import type { CreateLink, ShortenRefusal } from './command.js';
import { keyAlphabet } from '../../keys/key-token.js';
import { reservedAliases } from '../../aliases/reserved-alias.js';
import { readAliasOverrides } from '../../aliases/overrides.js';
import { readReservedWords } from '../../aliases/reserved-words.js';
import type { WebSafety } from '../../safety/web-safety.js';
import { failure, type Reply } from '../../http/reply.js';
import { parseAs, refusedWith, type Read, type Refused } from '../../http/requests.js';
import { safetyResponses } from '../../safety/safety-replies.js';
import { monthlyLimitReached, type PlanDeps, type V2State } from '../../admission/admitted-call.js';
import { gateRefusal } from './gates.js';

/** Generates short codes: of 62^8, so a collision is rare, and found when the code is taken. */
export const generateCode = customAlphabet(keyAlphabet, 8);

export interface LinkRequestDeps extends PlanDeps {
  readonly pool: Pool;
  readonly isOwnHost: (destination: URL) => boolean;
  readonly safety: Pick<WebSafety, 'check' | 'safeBrowsing'>;
  readonly passwords: Pick<PasswordHasher, 'hashAll'>;
}

/** Checked; only the hash of its password is missing. */
export interface ReadyRequest {
  readonly type: 'ready';
  /** Its password is not hashed yet. */
  readonly create: CommandRequest<CreateLink>;
  readonly password: string | null;
}

/** What POST /v2/shorten and each item of a batch have in common. */
export const createLinkRequests = (deps: LinkRequestDeps) => {
  const { plans } = deps;
  const schema = shortenRequest(deps.isOwnHost);
  const itemSchema = batchItemRequest(deps.isOwnHost);
  const findReservation = reservedAliases(readReservedWords());

  const linkLimitOf = (call: AdmittedCall): number | null =>
    plans.plans[call.key.plan].monthlyLinks;

  const linksExhausted = (call: AdmittedCall): Reply =>
    monthlyLimitReached(messages.linksExhausted, linkLimitOf(call), call, deps);

  /** What the key, its plan and the platform's switches refuse, in the contract's order. */
  const refusalOf = (request: ShortenRequest, state: V2State): Reply | null => {
    const refusal = gateRefusal(request, state, deps);
    // An existing link spends none.
    if (refusal !== null || request.reuse) return refusal;
    const { call } = state;
    const limit = linkLimitOf(call);
    return limit !== null && call.usage.links >= limit ? linksExhausted(call) : null;
  };

  const checked = (
    body: unknown,
    state: V2State,
    bodySchema: typeof schema | typeof itemSchema,
  ): Read<ShortenRequest> => {
    const parsed: Read<ShortenRequest> = parseAs(bodySchema, body);
    const reply = parsed.type === 'read' ? refusalOf(parsed.value, state) : null;
    return reply ? refusedWith(reply) : parsed;
  };

  /** The aliases among the requests' that are reserved, and not for this account. */
  const reservedFor = async (
    requests: readonly ShortenRequest[],
    { key }: AdmittedCall,
  ): Promise<ReadonlySet<string>> => {
    const reserved = requests.flatMap(({ alias }) =>
      alias !== null && findReservation(alias) !== null ? [alias] : [],
    );
    if (reserved.length === 0) return new Set();
    const names = reserved.map((alias) => alias.toLowerCase());
    const accounts = await readAliasOverrides(deps.pool, names);
    return new Set(reserved.filter((alias) => accounts.get(alias.toLowerCase()) !== key.account));
  };

  const commandFor = (request: ShortenRequest, state: V2State): ReadyRequest['create'] => {
    const { alias, url, expiresIn, expiresAt, startsAt, maxClicks, title, note, tags } = request;
    const { key } = state.call;
    const data = {
      custom: alias !== null,
      url,
      expiresIn,
      expiresAt,
      startsAt,
      maxClicks,
      passwordHash: null,
      title,
      note,
      tags,
      reuse: request.reuse,
      keyId: key.rootId,
      account: key.account,
    };
    const metadata = { actor: key.id, requestId: state.requestId };
    return { type: 'CreateLink', subject: alias ?? generateCode(), data, metadata };
  };

  return {
    /** Of the body of POST /v2/shorten. */
    schema,
    /** Of an item of a batch. */
    itemSchema,
    linkLimitOf,
    /**
     * A request that nothing but admission is missing for; `null`: one that has to ask the ledger or a service
     * first, or that is expensive. `commandFor` makes its command, or refuses it.
     */
    async plain(body: Read<unknown>) {
      const parsed = body.type === 'read' ? parseAs(schema, body.value) : body;
      if (parsed.type === 'refused') return { commandFor: () => parsed };
      const request = parsed.value;
      const isPlain = request.alias === null && request.password === null && !request.reuse;
      if (!isPlain || deps.safety.safeBrowsing) return null;
      const [verdict] = await deps.safety.check([request.url]);
      const unsafe = safetyResponses[verdict ?? 'unknown'];
      return {
        commandFor: (state: V2State): Read<CommandRequest<CreateLink>> => {
          const reply = refusalOf(request, state) ?? unsafe;
          if (reply) return refusedWith(reply);
          return { type: 'read', value: commandFor(request, state) };
        },
      };
    },
    /** One outcome for each item, in their order; their URLs are checked together. */
    async prepare(
      items: readonly unknown[],
      state: V2State,
      bodySchema: typeof schema | typeof itemSchema,
    ): Promise<readonly (ReadyRequest | Refused)[]> {
      const all = items.map((item) => checked(item, state, bodySchema));
      const accepted = all.flatMap((item) => (item.type === 'read' ? [item.value] : []));
      const checking = deps.safety.check(accepted.map(({ url }) => url));
      // It has a deadline of its own.
      const verdicts = [...(await state.uncounted(checking))];
      const forbidden = await reservedFor(accepted, state.call);
      return all.map((item): ReadyRequest | Refused => {
        if (item.type === 'refused') return item;
        const request = item.value;
        const unsafe = safetyResponses[verdicts.shift() ?? 'unknown'];
        if (unsafe) return refusedWith(unsafe);
        if (request.alias !== null && forbidden.has(request.alias)) {
          return refusedWith(failure(400, messages.aliasReserved));
        }
        const create = commandFor(request, state);
        return { type: 'ready', create, password: request.password };
      });
    },
    /**
     * Hashes the passwords. Last, because hashing is expensive.
     *
     * @throws Overloaded
     */
    async complete(
      ready: readonly ReadyRequest[],
      { call, uncounted }: V2State,
    ): Promise<readonly CommandRequest<CreateLink>[]> {
      const passwords = ready.flatMap(({ password }) => (password === null ? [] : [password]));
      const hashes = [...(await uncounted(deps.passwords.hashAll(call.key.rootId, passwords)))];
      return ready.map(({ create, password }) => {
        const passwordHash = password === null ? null : hashes.shift();
        if (passwordHash === undefined) throw new Error('A password was left unhashed');
        return { ...create, data: { ...create.data, passwordHash } };
      });
    },
    /** The replies to a single link that the ledger refused. */
    refusals: (call: AdmittedCall): Readonly<Record<ShortenRefusal, Reply>> => ({
      aliasTaken: failure(400, messages.aliasTaken),
      linksExhausted: linksExhausted(call),
    }),
  };
};
