import type { LedgerClock } from '../../ops/ledger/clock.js';
import { execute, type Client } from '../../ops/platform/postgres/pool.js';
import { writeOnly } from '../../ops/platform/postgres/statement.js';
import { lockMeters, saveMeters } from '../../ops/ledger/meters.js';
import { monthAfter } from '../../schemas/folds/key-meter.js';
import { countMinutes, minuteOf } from './metering.js';

/** What the month gave of the calls that a request costs beside the one that it was admitted with. */
export interface FurtherCalls {
  readonly granted: number;
  /** The first day of the next month, YYYY-MM-DD. */
  readonly resetDate: string;
}

/**
 * Takes up to `count` calls of the month from the meter of a root, as many as are left of `limit` (`null`: no
 * limit). The minute does not count them.
 */
export const takeFurtherCalls = async (
  tx: Client,
  clock: LedgerClock,
  rootId: string,
  limit: number | null,
  count: number,
): Promise<FurtherCalls> => {
  const { meters, now } = await lockMeters(tx, [rootId], clock);
  const meter = meters.get(rootId);
  if (!meter) throw new Error(`The key ${rootId} has no meter`);
  const room = limit === null ? count : Math.max(0, limit - meter.calls);
  const granted = Math.min(count, room);
  if (granted > 0) {
    meter.calls += granted;
    const minute = { keyId: rootId, minute: minuteOf(now), calls: granted };
    await execute(tx, writeOnly([...saveMeters([meter]), ...countMinutes([minute])]));
  }
  return { granted, resetDate: monthAfter(meter.month) };
};
