import { createHash, randomBytes } from 'node:crypto';
import { customAlphabet } from 'nanoid';
import type { Outbox, OutboxPosition } from '../../ops/event-log/outbox/port.js';
import { apiKeys } from '../../ops/ledger/api-keys.js';
import { createLockedDecisions, prepareIn, recordIn } from '../../ops/ledger/decide.js';
import { invitations, readInvitations } from '../../ops/ledger/invitations.js';
import { accountsWithOtherOwner, findPersonId, people, roleHash } from '../../ops/ledger/people.js';
import { traced } from '../../ops/ledger/traced.js';
import { newId } from '../../ops/platform/new-id.js';
import { only } from '../../ops/platform/collections.js';
import { createBatcher } from '../../ops/platform/concurrency/batcher.js';
import {
  transaction,
  type Client,
  type Pool,
  type Queryable,
} from '../../ops/platform/postgres/pool.js';
import type { Actor, CommandRequest } from '../../schemas/decision.js';
import { installation, noPerson, type Person } from '../../schemas/folds/person.js';
import type { Invitation } from '../../schemas/folds/invitation.js';
import { personIdLength, type AnyRole, type Role } from '../../schemas/roles.js';
import { scopeNames } from '../../schemas/scopes.js';
import { apiKeyDecider } from '../keys/command.js';
import { hashKeyToken, keyAlphabet } from '../keys/key-token.js';
import { personDecider, type PersonCommand, type PersonRefusal, type Profile } from './command.js';
import { invitationDecider } from './invitation-command.js';

const randomId = customAlphabet(keyAlphabet, personIdLength);
const randomAccount = customAlphabet('0123456789abcdefghijklmnopqrstuvwxyz', 12);

/** The stored hash of the token of an invitation. */
const hashToken = (token: string): string => createHash('sha256').update(token).digest('base64url');

/** The pending invitation with a token; `null`: it is invalid. */
const findInvitation = async (postgres: Queryable, token: string) =>
  (await readInvitations(postgres, 'token_hash', hashToken(token)))[0] ?? null;

interface SignIn {
  readonly profile: Profile;
  readonly groupRoles: ReadonlyMap<string, AnyRole> | null;
  /** The token of an invitation that the person accepts; `null`: none. */
  readonly invitation: string | null;
  /** Whether a person without an account gets one. */
  readonly mayGetAccount: boolean;
  readonly request: Omit<Actor, 'actor'>;
}

export type SignInOutcome =
  | {
      readonly type: 'signedIn';
      readonly id: string;
      readonly person: Person;
      readonly invitedTo: string | null;
    }
  | { readonly type: 'invitationInvalid' | 'invitationOfAnother' };

export type PersonOutcome =
  | {
      readonly type: 'done';
      /** The live keys that the person created in the accounts. */
      readonly keys: readonly string[];
      readonly outboxPosition: OutboxPosition;
    }
  | { readonly type: 'refused'; readonly refusal: PersonRefusal };

export const createPeople = (pool: Pool, outbox: Outbox) => {
  /** Creates the root key of accounts that never had one. Its secret is not stored. */
  const firstRoots = async (tx: Client, accounts: readonly string[], metadata: Actor) => {
    const { rows } = await tx.query<{ account: string }>(
      `SELECT account FROM unnest($1::text[]) AS new (account)
       WHERE NOT EXISTS (SELECT FROM ledger.api_keys k WHERE k.account = new.account AND ancestors = '{}')`,
      [accounts],
    );
    const commands = rows.map(({ account }) => ({
      ...{ type: 'CreateApiKey' as const, subject: newId(), metadata },
      data: {
        ...{ name: 'people', plan: 'FREE' as const, account, scopes: scopeNames, expiresIn: null },
        hash: hashKeyToken(randomBytes(32).toString('base64url')),
      },
    }));
    return prepareIn(tx, apiKeys, apiKeyDecider, commands);
  };

  /**
   * Decides a command, and ends the sessions in the accounts that the person loses. Holds the lock of people, because the
   * owners of the accounts must not change.
   *
   * @param more accounts in which the person may get a role
   */
  const decide = async (
    tx: Client,
    subject: string,
    command: { readonly type: PersonCommand['type']; readonly data: object },
    metadata: Actor,
    more: Iterable<string> = [],
  ) => {
    const before = (await people.lock(tx, [subject])).get(subject) ?? noPerson;
    const concerned = [...new Set([...before.roles.keys(), ...more])];
    const owned = await accountsWithOtherOwner(tx, concerned, subject);
    const data = { ...command.data, accountsWithOtherOwner: owned };
    const request = {
      type: command.type,
      subject,
      data,
      metadata,
    } as CommandRequest<PersonCommand>;
    const prepared = await prepareIn(tx, people, personDecider, [request]);
    const { decision, state: person } = only(prepared.results);
    const lost = [...before.roles.keys()].filter((account) => !person.roles.has(account));
    await tx.query('DELETE FROM ledger.console_sessions WHERE bound_to = ANY ($1::bytea[])', [
      lost.map((account) => roleHash(subject, account)),
    ]);
    const accounts = [...person.roles.keys()].filter((account) => account !== installation);
    const roots = await firstRoots(tx, accounts, metadata);
    return { decision, person, lost, prepared: [prepared, roots] };
  };

  const signInIn = async (
    tx: Client,
    { profile, groupRoles, ...given }: SignIn,
  ): Promise<SignInOutcome> => {
    await people.lock(tx, []);
    const { issuer, identity, email } = profile;
    const id = (await findPersonId(tx, issuer, identity)) ?? `usr_${randomId()}`;
    const metadata = { ...given.request, actor: id };
    const invitation =
      given.invitation === null ? null : await findInvitation(tx, given.invitation);
    if (given.invitation !== null && !invitation) return { type: 'invitationInvalid' };
    const address = invitation?.email?.toLowerCase();
    if (address !== undefined && address !== email?.toLowerCase()) {
      return { type: 'invitationOfAnother' };
    }
    // In the order of an invitation, whose locks could otherwise wait for these.
    await people.lock(tx, [id]);
    const accept = invitation
      ? [{ type: 'Accept' as const, subject: invitation.id, data: { person: id }, metadata }]
      : [];
    const accepted = await prepareIn(tx, invitations, invitationDecider, accept);
    if (accepted.results.some(({ decision }) => decision.type === 'refused')) {
      return { type: 'invitationInvalid' };
    }
    const signUp = given.mayGetAccount ? `personal-${randomAccount()}` : null;
    const command = {
      type: 'SignIn',
      data: { ...profile, groupRoles, invitation, signUp },
    } as const;
    const signedIn = await decide(tx, id, command, metadata, groupRoles?.keys());
    await recordIn(tx, outbox, ...signedIn.prepared, accepted);
    const { person } = signedIn;
    return { type: 'signedIn', id, person, invitedTo: invitation?.account ?? null };
  };

  const invitationDecisions = createLockedDecisions(
    { pool, outbox },
    invitations,
    invitationDecider,
  );

  // One at a time: each request that waits for the lock of people would hold a connection.
  const batcher = createBatcher({
    ...{ maxBatch: 1, maxWaiting: 500, mayBeCausedByOneCommand: () => false },
    run: (works: readonly (() => Promise<unknown>)[]) => Promise.all(works.map((work) => work())),
  });
  const decideAlone = <Result>(
    cause: Pick<Actor, 'traceparent'>,
    work: (tx: Client) => Promise<Result>,
  ): Promise<Result> =>
    batcher.submit(() => traced(pool, [cause], () => transaction(pool, work))) as Promise<Result>;

  return {
    /** Updates the person of a sign-in, or adds it. A person without a role is not stored. */
    signIn: (request: SignIn): Promise<SignInOutcome> =>
      decideAlone(request.request, (tx) => signInIn(tx, request)),

    /** @param canAdd also without a role in the account */
    setRole: (
      id: string,
      account: string,
      role: Role,
      metadata: Actor,
      canAdd = false,
    ): Promise<PersonOutcome> =>
      decideAlone(metadata, async (tx): Promise<PersonOutcome> => {
        const command = { type: 'SetRole', data: { account, role, canAdd } } as const;
        const { decision, prepared } = await decide(tx, id, command, metadata, [account]);
        if (decision.type === 'refused') return decision;
        return { type: 'done', keys: [], outboxPosition: await recordIn(tx, outbox, ...prepared) };
      }),

    /** Removes a person from accounts, and ends its sessions there. @param accounts `null`: all of them */
    remove: (
      id: string,
      accounts: readonly string[] | null,
      metadata: Actor,
      revokesKeys = false,
    ): Promise<PersonOutcome> =>
      decideAlone(metadata, async (tx): Promise<PersonOutcome> => {
        const command = { type: 'RemoveRoles', data: { accounts } } as const;
        const { decision, lost, prepared } = await decide(tx, id, command, metadata);
        if (decision.type === 'refused') return decision;
        const { rows } = await tx.query<{ id: string }>(
          `SELECT id FROM ledger.api_keys
           WHERE created_by = $1 AND account = ANY ($2::text[]) AND status <> 'revoked' AND ancestors <> '{}'
             AND (expires_at IS NULL OR expires_at > clock_timestamp()) ORDER BY id`,
          [id, lost],
        );
        const keys = rows.map((row) => row.id);
        const revocations = (revokesKeys ? keys : []).map((subject) => ({
          ...{ type: 'RevokeApiKey' as const, subject, metadata },
          data: { by: 'operator' as const },
        }));
        const revoked = await prepareIn(tx, apiKeys, apiKeyDecider, revocations);
        const outboxPosition = await recordIn(tx, outbox, ...prepared, revoked);
        return { type: 'done', keys, outboxPosition };
      }),

    /** Invites a person. The token is not stored. */
    async invite(
      invited: { readonly account: string; readonly role: Role; readonly email: string | null },
      metadata: Actor,
    ) {
      const token = randomBytes(32).toString('base64url');
      const id = newId();
      const commandOf = async (tx: Client) => {
        const pending = (await readInvitations(tx, 'account', invited.account)).length;
        return {
          type: 'Invite' as const,
          data: { ...invited, pending, tokenHash: hashToken(token) },
        };
      };
      return {
        ...(await invitationDecisions.submit({ subject: id, metadata, commandOf })),
        id,
        token,
      };
    },

    withdraw: (id: string, account: string, metadata: Actor) =>
      invitationDecisions.submit({
        ...{ subject: id, metadata },
        commandOf: () => Promise.resolve({ type: 'Withdraw', data: { account } }),
      }),

    /** What an invitation gives, for the page that asks whether to accept it; `null`: it is invalid. */
    invitationOf: (token: string): Promise<Pick<Invitation, 'account' | 'role'> | null> =>
      findInvitation(pool, token),
  };
};

export type People = ReturnType<typeof createPeople>;
