import { saveCodes } from '../../../ops/ledger/codes.js';
import { decideOne, decideOneIn, type LedgerRows } from '../../../ops/ledger/decide.js';
import { lockActiveDomains } from '../../../ops/ledger/domains.js';
import { findTaken, isSubjectTaken } from '../../../ops/ledger/links.js';
import { lockCalls, saveMeters, type LockedMeter } from '../../../ops/ledger/meters.js';
import { traced } from '../../../ops/ledger/traced.js';
import type { LedgerClock } from '../../../ops/ledger/clock.js';
import type { Outbox } from '../../../ops/event-log/outbox/port.js';
import { transaction, type Client, type Pool } from '../../../ops/platform/postgres/pool.js';
import type { Actor } from '../../../schemas/decision.js';
import type { LinkEvent } from '../../../schemas/events/catalogue.js';
import { mayCreate } from '../../../schemas/folds/domain.js';
import { addSpending, spendingOf } from '../../../schemas/folds/key-meter.js';
import { linkOfSubject } from '../../../schemas/link-subject.js';
import { managedLinks } from '../change/managed-links.js';
import { liveIn } from '../create/handler.js';
import { codeDecider, type LinkWithCodes } from './command.js';

/** Writes links with their codes. @param meter counts added codes; `null`: none is added */
const codeRows = (
  outbox: Outbox,
  meter: LockedMeter | null,
): LedgerRows<LinkWithCodes, LinkEvent> => {
  const { lock, save, changeOf } = managedLinks(outbox);
  return {
    async lock(tx, subjects) {
      const links = await lock(tx, subjects);
      return new Map(Array.from(links, ([subject, link]) => [subject, { ...link, decided: [] }]));
    },
    save(states) {
      const decided = [...states.values()].flatMap((state) => state.decided);
      const spendings = decided.flatMap((event) => spendingOf(event) ?? []);
      if (meter) {
        for (const spending of spendings) Object.assign(meter, addSpending(meter, spending));
      }
      return [
        ...(meter && spendings.length > 0 ? saveMeters([meter]) : []),
        ...save(states),
        ...saveCodes(decided),
      ];
    },
    ...(changeOf && { changeOf }),
  };
};

interface AddRequest {
  readonly subject: string;
  readonly code: string;
  readonly account: string;
  readonly keyHash: string;
  /** The plan's monthly links; `null` for no limit. */
  readonly linkLimit: number | null;
  readonly actor: Actor;
}

/** Lock order: meters, domains, links, partitions of the log. */
export const createCodeLedger = (deps: {
  readonly pool: Pool;
  readonly outbox: Outbox;
  readonly clock: LedgerClock;
}) => {
  const { pool, outbox, clock } = deps;

  const addIn = async (tx: Client, { subject, code, account, ...request }: AddRequest) => {
    const { keys, meters } = await lockCalls(tx, [request.keyHash], clock);
    const key = keys.get(request.keyHash);
    const meter = key && meters.get(key.rootId);
    if (!meter) return null;
    const { domain } = linkOfSubject(code);
    const domains = await lockActiveDomains(tx, domain === null ? [] : [domain]);
    const { linkLimit } = request;
    const isExhausted = linkLimit !== null && meter.links >= linkLimit;
    const refusal = !mayCreate(domains, account, code)
      ? 'domainInactive'
      : isExhausted
        ? 'linksExhausted'
        : (await findTaken(tx, [code])).has(code)
          ? 'aliasTaken'
          : null;
    const data = { account, code, keyId: key.rootId, refusal } as const;
    const command = { type: 'AddCode', subject, data, metadata: request.actor } as const;
    const decided = await decideOneIn(tx, outbox, codeRows(outbox, meter), codeDecider, command);
    return { ...decided, liveIn: liveIn(domains) };
  };

  return {
    /** Adds a code; `null` if the key has ended. */
    async add(request: AddRequest) {
      try {
        return await traced(pool, [request.actor], () =>
          transaction(pool, (tx) => addIn(tx, request)),
        );
      } catch (error) {
        // Another transaction assigned the code.
        if (isSubjectTaken(error)) return 'aliasTaken';
        throw error;
      }
    },

    remove: (subject: string, code: string, account: string, metadata: Actor) =>
      decideOne({ pool, outbox }, codeRows(outbox, null), codeDecider, {
        ...{ type: 'RemoveCode', subject, data: { account, code }, metadata },
      }),
  };
};
