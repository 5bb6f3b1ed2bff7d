import { insertClaims, lockClaims, saveClaims } from '../../ledger/claims.js';
import { transaction } from '../../platform/postgres/pool.js';
import {
  evolveClaim,
  freeCode,
  type Claim,
  type ClaimedCode,
  type ClaimEvent,
} from '../../../schemas/folds/claim.js';
import type { TestNode } from './node.js';

const isClaimed = (claim: Claim): claim is ClaimedCode => claim.status === 'claimed';

const fold = (events: readonly ClaimEvent[]): ReadonlyMap<string, ClaimedCode> => {
  const claims = new Map<string, ClaimedCode>();
  for (const event of events) {
    const claim = evolveClaim(claims.get(event.subject) ?? freeCode, event);
    if (isClaimed(claim)) claims.set(event.subject, claim);
  }
  return claims;
};

/** Puts links with a history into the ledger and the log, as if it had been decided there. */
export const recordHistory = (
  { pool, outbox }: Pick<TestNode, 'pool' | 'outbox'>,
  ...events: readonly ClaimEvent[]
): Promise<void> =>
  transaction(pool, async (tx) => {
    const claims = [...fold(events).values()];
    await insertClaims(tx, claims);
    await saveClaims(tx, claims);
    await outbox.record(tx, events);
  });

const order = (event: ClaimEvent): number => (event.type === 'linklog.LinkCreated.v1' ? 0 : 1);

/** The claims that the log's events come to, by code. */
export const foldedClaims = async (node: TestNode): Promise<ReadonlyMap<string, ClaimedCode>> => {
  const [links, visits] = await Promise.all([node.events('links'), node.events('visits')]);
  const events = [...links, ...visits] as ClaimEvent[];
  // Two topics have no common order but time. Where that is equal, either order folds to the same.
  return fold(events.sort((a, b) => order(a) - order(b) || a.time.localeCompare(b.time)));
};

/** The claims that the ledger's tables hold, by code. */
export const storedClaims = ({ pool }: TestNode): Promise<ReadonlyMap<string, ClaimedCode>> =>
  transaction(pool, async (tx) => {
    const { rows } = await tx.query<{ code: string }>('SELECT code FROM ledger.links');
    return lockClaims(
      tx,
      rows.map(({ code }) => code),
    );
  });
