import { createBatcher } from '../../../ops/platform/concurrency/batcher.js';
import { decideAll, type Ledger } from '../../../ops/ledger/decide.js';
import { meterRows } from '../../../ops/ledger/meters.js';
import { mayBeCausedByOneCommand } from '../../../ops/platform/error-codes.js';
import type { CommandRequest } from '../../../schemas/decision.js';
import { qrCodeDecider, type SpendQrCode } from './command.js';

type QrCodeDecision = ReturnType<typeof qrCodeDecider.decide>;

const maxGroup = 200;
const maxWaiting = 2_000;

/** Spends QR codes in groups: monthly quota and event in one transaction. */
export const createQrCodeQuota = (ledger: Required<Ledger>) => {
  const run = async (
    commands: readonly CommandRequest<SpendQrCode>[],
  ): Promise<readonly QrCodeDecision[]> => {
    const { results } = await decideAll(ledger, meterRows, qrCodeDecider, commands);
    return results.map(({ decision }) => decision);
  };
  const batcher = createBatcher({ maxBatch: maxGroup, maxWaiting, run, mayBeCausedByOneCommand });
  return { spend: (command: CommandRequest<SpendQrCode>) => batcher.submit(command) };
};
