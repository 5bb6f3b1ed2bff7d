import { randomBytes } from 'node:crypto';
import type { Outbox, OutboxPosition } from '../../ops/event-log/outbox/port.js';
import { createLockedDecisions } from '../../ops/ledger/decide.js';
import { domains } from '../../ops/ledger/domains.js';
import type { Client, Pool, Queryable } from '../../ops/platform/postgres/pool.js';
import type { Actor } from '../../schemas/decision.js';
import type { Domain } from '../../schemas/folds/domain.js';
import { subjectRangeOf } from '../../schemas/link-subject.js';
import {
  claimLifeMs,
  domainDecider,
  type DomainCommand,
  type DomainRefusal,
  type RedirectChanges,
} from './command.js';

export type DomainOutcome =
  | {
      readonly type: 'done';
      /** Whether the command created an event. */
      readonly changed: boolean;
      readonly domain: Domain;
      readonly outboxPosition: OutboxPosition;
    }
  | { readonly type: 'refused'; readonly refusal: DomainRefusal };

/** The number of domains and live claims of an account. */
const countDomains = async (tx: Client, account: string): Promise<number> => {
  const { rows } = await tx.query<{ count: number }>(
    `SELECT count(*) AS count FROM ledger.domains
     WHERE account = $1 OR claims @> jsonb_build_object($1::text, '{}'::jsonb)
       AND (claims -> $1 ->> 'claimedAt')::timestamptz > clock_timestamp() - $2 * interval '1 ms'`,
    [account, claimLifeMs],
  );
  return rows[0]?.count ?? 0;
};

/** Whether the domain ever had a link. No subject is deleted. */
const hasCodes = async (tx: Client, domain: string): Promise<boolean> => {
  const { rows } = await tx.query(
    'SELECT FROM ledger.links WHERE subject > $1 AND subject < $2 LIMIT 1',
    [...subjectRangeOf(domain)],
  );
  return rows.length > 0;
};

/** The numbers of codes of an account on domains, by domain, without those of deleted links. */
export const countLinksOn = async (
  postgres: Queryable,
  owners: readonly { readonly domain: string; readonly account: string }[],
): Promise<ReadonlyMap<string, number>> => {
  if (owners.length === 0) return new Map();
  const { rows } = await postgres.query<{ domain: string; links: number }>({
    name: 'domains-count-links',
    // The subjects of a domain are a range of the primary key: see `subjectRangeOf`.
    text: `SELECT domain, (
             SELECT count(*) FROM ledger.links l
             WHERE l.subject > domain || '/' AND l.subject < domain || '0'
               AND l.account = owners.account AND NOT l.deleted
               AND NOT EXISTS (SELECT FROM ledger.links WHERE subject = l.code_of AND deleted)
           ) AS links
           FROM unnest($1::text[], $2::text[]) AS owners (domain, account)`,
    values: [owners.map(({ domain }) => domain), owners.map(({ account }) => account)],
  });
  return new Map(rows.map(({ domain, links }) => [domain, links]));
};

/**
 * Whether domains are registered directly below this name, such as `co.uk` and `github.io`. An unlisted top-level domain
 * is a suffix, too.
 */
export const isPublicSuffix = async (name: string): Promise<boolean> => {
  // Imported with the first claim: the list takes 20 ms and 2 MB.
  const { getPublicSuffix } = await import('tldts');
  return getPublicSuffix(name, { allowPrivateDomains: true }) === name;
};

/** Decides commands on domains, one domain at a time. */
export const createDomainHandler = (pool: Pool, outbox: Outbox) => {
  const decisions = createLockedDecisions({ pool, outbox }, domains, domainDecider);

  const decide = async (
    subject: string,
    metadata: Actor,
    commandOf: (tx: Client, domain: Domain) => Promise<Pick<DomainCommand, 'type' | 'data'>>,
  ): Promise<DomainOutcome> => {
    const decided = await decisions.submit({ subject, metadata, commandOf });
    const { decision, state: domain, outboxPosition } = decided;
    if (decision.type === 'refused') return decision;
    return { type: 'done', changed: decision.type === 'accepted', domain, outboxPosition };
  };

  return {
    claim: (name: string, account: string, limit: number, actor: Actor, wantedCase?: boolean) =>
      decide(name, actor, async (tx) => ({
        type: 'ClaimDomain',
        data: {
          ...{ account, limit, caseInsensitive: wantedCase },
          hasCodes: await hasCodes(tx, name),
          count: await countDomains(tx, account),
          token: randomBytes(18).toString('base64url'),
        },
      })),

    /** @param found the values of the TXT record */
    verify: (name: string, account: string, found: readonly string[], actor: Actor) =>
      decide(name, actor, async (tx) => ({
        type: 'VerifyDomain',
        data: { account, found, hasCodes: await hasCodes(tx, name) },
      })),

    add: (name: string, account: string, actor: Actor, wantedCase?: boolean) =>
      decide(name, actor, async (tx) => ({
        type: 'AddDomain',
        data: { account, caseInsensitive: wantedCase, hasCodes: await hasCodes(tx, name) },
      })),

    change: (name: string, account: string, redirects: RedirectChanges, actor: Actor) =>
      decide(name, actor, () =>
        Promise.resolve({ type: 'ChangeDomain', data: { account, ...redirects } }),
      ),

    /** Releases the domain of an account, or its claim. Refuses a domain with links. */
    release: (name: string, account: string, actor: Actor) =>
      decide(name, actor, async (tx) => {
        const links = (await countLinksOn(tx, [{ domain: name, account }])).get(name) ?? 0;
        return { type: 'ReleaseDomain', data: { account, links } };
      }),

    /** Releases a domain from the account that has it, even if it has links. */
    releaseFromOwner: (name: string, actor: Actor) =>
      decide(name, actor, (_tx, domain) =>
        Promise.resolve({
          type: 'ReleaseDomain',
          data: { account: domain.owner?.account ?? '', links: 0 },
        }),
      ),
  };
};
