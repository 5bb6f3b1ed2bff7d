import { decideAll, type LedgerState } from '../../../ops/ledger/decide.js';
import { readLinkStates } from '../../../ops/ledger/link-states.js';
import { ledgerLinks } from '../../../ops/ledger/links.js';
import type { Outbox } from '../../../ops/event-log/outbox/port.js';
import type { Pool } from '../../../ops/platform/postgres/pool.js';
import type { Actor } from '../../../schemas/decision.js';
import type { LinkEvent } from '../../../schemas/events/catalogue.js';
import {
  decideLinkChange,
  evolveManagedLink,
  initialState,
  type LinkCommand,
  type ManagedLink,
} from './command.js';

const managedLinks = (outbox: Outbox): LedgerState<ManagedLink, LinkEvent> => ({
  initial: initialState,
  async lock(tx, codes) {
    const ledger = await ledgerLinks.lock(tx, codes);
    // With the rows locked, no later event is on its way.
    const states = await readLinkStates(tx, outbox, codes);
    return new Map(
      codes.map((code) => [
        code,
        {
          ledger: ledger.get(code) ?? initialState.ledger,
          current: states.get(code)?.state ?? initialState.current,
        },
      ]),
    );
  },
  evolve: evolveManagedLink,
  save: (states) =>
    ledgerLinks.save(new Map([...states].map(([code, { ledger }]) => [code, ledger]))),
  ...(ledgerLinks.changeOf && { changeOf: ledgerLinks.changeOf }),
});

/** Has commands on links decided in one transaction, each with its own result, in their order. */
export const createLinkChanges = (pool: Pool, outbox: Outbox) => {
  const kind = managedLinks(outbox);
  return (
    commands: readonly { readonly code: string; readonly command: LinkCommand }[],
    actor: Actor,
  ) =>
    decideAll(
      { pool, outbox },
      kind,
      commands.map(({ code: subject, command }) => ({
        ...actor,
        subject,
        decide: (state, context) => decideLinkChange(command, state, context),
      })),
    );
};

export type LinkChanges = ReturnType<typeof createLinkChanges>;
