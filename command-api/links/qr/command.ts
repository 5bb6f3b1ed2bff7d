import {
  accepted,
  nextEvent,
  refused,
  type Command,
  type Decider,
} from '../../../schemas/decision.js';
import type { UsageEvent } from '../../../schemas/events/catalogue.js';
import { newEvent } from '../../../schemas/events/codec.js';
import {
  evolveMeter,
  inMonth,
  monthOf,
  unusedMeter,
  type KeyMeter,
} from '../../../schemas/folds/key-meter.js';

/** Spends a QR code of the month. The subject is the root key. */
export type SpendQrCode = Command<
  'SpendQrCode',
  {
    readonly account: string;
    /** The subject of the link. */
    readonly code: string;
    /** The plan's monthly QR codes; `null` for no limit. */
    readonly limit: number | null;
  }
>;

export const qrCodeDecider: Decider<
  SpendQrCode,
  UsageEvent,
  KeyMeter,
  { readonly type: 'qrCodesExhausted' }
> = {
  initialState: unusedMeter,
  decide({ subject, data: { account, code, limit }, metadata }, meter) {
    const { qrCodes } = inMonth(meter, monthOf(metadata.now.toISOString()));
    if (limit !== null && qrCodes >= limit) return refused({ type: 'qrCodesExhausted' });
    const next = nextEvent({ sequence: meter.usageSequence, lastEventAt: metadata.now }, metadata);
    return accepted(newEvent('QrRendered', { code }, { ...next, subject, account }));
  },
  evolve: evolveMeter,
};
