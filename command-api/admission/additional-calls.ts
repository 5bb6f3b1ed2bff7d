import type { LedgerClock } from '../../ops/ledger/clock.js';
import { lockMeters, saveMeters } from '../../ops/ledger/meters.js';
import { execute, type Client } from '../../ops/platform/postgres/pool.js';
import { writeOnly } from '../../ops/platform/postgres/statement.js';
import { monthAfter } from '../../schemas/folds/key-meter.js';
import { countMinutes, minuteOf } from './metering.js';

/** Calls that a request costs in addition to its own. */
export interface AdditionalCalls {
  readonly granted: number;
  /** The first day of the next month, YYYY-MM-DD. */
  readonly resetDate: string;
}

/**
 * Reserves up to `count` calls of the month for a root, at most those left of `limit` (`null`: no limit). They do not
 * count toward the minute.
 */
export const reserveCalls = async (
  tx: Client,
  clock: LedgerClock,
  rootId: string,
  limit: number | null,
  count: number,
): Promise<AdditionalCalls> => {
  const { meters, now } = await lockMeters(tx, [rootId], clock);
  const meter = meters.get(rootId);
  if (!meter) throw new Error(`The key ${rootId} has no meter`);
  const remaining = limit === null ? count : Math.max(0, limit - meter.calls);
  const granted = Math.min(count, remaining);
  if (granted > 0) {
    meter.calls += granted;
    const minute = { keyId: rootId, minute: minuteOf(now), calls: granted };
    await execute(tx, writeOnly([...saveMeters([meter]), ...countMinutes([minute])]));
  }
  return { granted, resetDate: monthAfter(meter.month) };
};
