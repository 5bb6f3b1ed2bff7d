import { newId } from '../../../ops/platform/new-id.js';
import { createBatcher } from '../../../ops/platform/concurrency/batcher.js';
import type { LedgerClock } from '../../../ops/ledger/clock.js';
import { lockMeters, saveMeters } from '../../../ops/ledger/meters.js';
import type { Outbox } from '../../../ops/event-log/outbox/port.js';
import { mayBeCausedByOneCommand } from '../../../ops/platform/error-codes.js';
import { lockingTransaction, type Pool } from '../../../ops/platform/postgres/pool.js';
import { mapResult, writeAfter } from '../../../ops/platform/postgres/statement.js';
import { newEvent } from '../../../schemas/events/codec.js';

/** A rendered QR code, to be counted before it is sent. */
export interface SpendQrCode {
  /** The root key whose quota it spends. */
  readonly keyId: string;
  /** The key that asked for it. */
  readonly actor: string;
  readonly account: string;
  readonly code: string;

  /** The plan's monthly QR codes; `null` for no limit. */
  readonly limit: number | null;
  readonly requestId: string;
}

export type QrCodeQuota = ReturnType<typeof createQrCodeQuota>;

const maxGroup = 200;
const maxWaiting = 2_000;

/** Counts QR codes in groups: monthly quota and event in one transaction. */
export const createQrCodeQuota = (pool: Pool, outbox: Outbox, clock: LedgerClock) => {
  const run = (commands: readonly SpendQrCode[]): Promise<readonly ('spent' | 'exhausted')[]> =>
    lockingTransaction(
      pool,
      (tx) =>
        lockMeters(
          tx,
          commands.map(({ keyId }) => keyId),
          clock,
        ),
      ({ meters, now }) => {
        const events = commands.map(({ keyId, actor, account, code, limit, requestId }) => {
          const meter = meters.get(keyId);
          if (!meter) throw new Error(`The key ${keyId} has no meter`);
          if (limit !== null && meter.qrCodes >= limit) return null;
          meter.qrCodes += 1;
          meter.usageSequence += 1;
          return newEvent(
            'QrRendered',
            { code },
            {
              id: newId(),
              subject: keyId,
              time: now,
              sequence: meter.usageSequence,
              account,
              actor,
              correlationId: requestId,
            },
          );
        });
        const recorded = events.filter((event) => event !== null);
        const saved = recorded.length > 0 ? saveMeters(meters.values()) : [];
        const write = writeAfter(saved, outbox.record(recorded));
        return mapResult(write, () =>
          events.map((event) => (event === null ? 'exhausted' : 'spent')),
        );
      },
    );

  const batcher = createBatcher({ maxBatch: maxGroup, maxWaiting, run, mayBeCausedByOneCommand });
  return { spend: (command: SpendQrCode) => batcher.submit(command) };
};
