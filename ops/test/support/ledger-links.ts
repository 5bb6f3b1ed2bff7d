import { insertLinks, lockLinks, saveLinks } from '../../ledger/links.js';
import { isCreation } from '../../../schemas/events/catalogue.js';
import { execute, transaction } from '../../platform/postgres/pool.js';
import { writeAfter } from '../../platform/postgres/statement.js';
import {
  evolveLedgerLink,
  initialState,
  type LedgerLinkState,
  type LedgerLink,
  type LedgerLinkEvent,
} from '../../../schemas/folds/ledger-link.js';
import type { TestNode } from './node.js';

const isTaken = (link: LedgerLinkState): link is LedgerLink => link.status === 'taken';

const fold = (events: readonly LedgerLinkEvent[]): ReadonlyMap<string, LedgerLink> => {
  const links = new Map<string, LedgerLink>();
  for (const event of events) {
    const link = evolveLedgerLink(links.get(event.subject) ?? initialState, event);
    if (isTaken(link)) links.set(event.subject, link);
  }
  return links;
};

/** Records events of links in the ledger and the log, without a decision. */
export const recordHistory = (
  { pool, outbox }: Pick<TestNode, 'pool' | 'outbox'>,
  ...events: readonly LedgerLinkEvent[]
): Promise<void> =>
  transaction(pool, async (tx) => {
    const links = [...fold(events).values()];
    const known = await lockLinks(
      tx,
      links.map(({ subject }) => subject),
    );
    const created = links.filter(({ subject }) => !known.has(subject));
    const saved = links.filter(({ subject }) => known.has(subject));
    const statements = [...insertLinks(created), ...saveLinks(saved)];
    await execute(tx, writeAfter(statements, outbox.record(events)));
  });

const order = (event: LedgerLinkEvent): number => (isCreation(event) ? 0 : 1);

/** The fold of the log's events, by subject. */
export const foldedLinks = async (node: TestNode): Promise<ReadonlyMap<string, LedgerLink>> => {
  const [links, visits] = await Promise.all([node.events('links'), node.events('visits')]);
  const events = [...links, ...visits] as LedgerLinkEvent[];
  // Two topics have no common order except time; events of equal time fold to the same state in any order.
  return fold(events.sort((a, b) => order(a) - order(b) || a.time.localeCompare(b.time)));
};

/** The links in the tables of the ledger, by subject. */
export const storedLinks = ({ pool }: TestNode): Promise<ReadonlyMap<string, LedgerLink>> =>
  transaction(pool, async (tx) => {
    const { rows } = await tx.query<{ subject: string }>('SELECT subject FROM ledger.links');
    return lockLinks(
      tx,
      rows.map(({ subject }) => subject),
    );
  });
