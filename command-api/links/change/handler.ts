import { decideAll, type LedgerRows } from '../../../ops/ledger/decide.js';
import { readLinkStates } from '../../../ops/ledger/link-states.js';
import { ledgerLinks } from '../../../ops/ledger/links.js';
import type { Outbox } from '../../../ops/event-log/outbox/port.js';
import type { Pool } from '../../../ops/platform/postgres/pool.js';
import type { CommandRequest } from '../../../schemas/decision.js';
import type { LinkEvent } from '../../../schemas/events/catalogue.js';
import { linkChangeDecider, type LinkCommand, type ManagedLink } from './command.js';

const managedLinks = (outbox: Outbox): LedgerRows<ManagedLink, LinkEvent> => ({
  async lock(tx, codes) {
    const ledger = await ledgerLinks.lock(tx, codes);
    // While the rows are locked, no new events are written.
    const states = await readLinkStates(tx, outbox, codes);
    return new Map(
      codes.map((code) => [
        code,
        {
          ledger: ledger.get(code) ?? linkChangeDecider.initialState.ledger,
          current: states.get(code)?.state ?? linkChangeDecider.initialState.current,
        },
      ]),
    );
  },
  save: (states) =>
    ledgerLinks.save(new Map([...states].map(([code, { ledger }]) => [code, ledger]))),
  ...(ledgerLinks.changeOf && { changeOf: ledgerLinks.changeOf }),
});

/** Decides commands on links in one transaction. Returns a result for each, in the same order. */
export const createLinkChanges = (pool: Pool, outbox: Outbox) => {
  const rows = managedLinks(outbox);
  return (commands: readonly CommandRequest<LinkCommand>[]) =>
    decideAll({ pool, outbox }, rows, linkChangeDecider, commands);
};
