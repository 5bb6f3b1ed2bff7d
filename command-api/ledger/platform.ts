import { v7 as uuidv7 } from 'uuid';
import { notifyChange } from '../../ops/ledger/changes.js';
import { ledgerNow } from '../../ops/ledger/clock.js';
import { readPlatform, savePlatform } from '../../ops/ledger/platform-row.js';
import { nothingRecorded, type Outbox, type Receipt } from '../../ops/platform/outbox/port.js';
import { transaction, type Pool } from '../../ops/platform/postgres/pool.js';
import { evolvePlatform, type PlatformState } from '../../schemas/folds/platform.js';
import { decidePlatform, type SwitchPlatform } from '../domain/platform.js';
import type { Actor } from './api-keys.js';

export interface PlatformHandler {
  read(): Promise<PlatformState>;
  /** Sets switches and records an event for each that changed, in one transaction. */
  switch(
    command: SwitchPlatform,
    actor: Actor,
  ): Promise<{ readonly state: PlatformState; readonly receipt: Receipt }>;
}

export const createPlatformHandler = (pool: Pool, outbox: Outbox): PlatformHandler => ({
  read: () => readPlatform(pool),
  switch: (command, actor) =>
    transaction(pool, async (tx) => {
      const state = await readPlatform(tx, 'FOR UPDATE');
      const now = await ledgerNow(tx);
      const events = decidePlatform(command, state, { ...actor, now, newId: uuidv7 });
      if (events.length === 0) return { state, receipt: nothingRecorded };
      const next = events.reduce(evolvePlatform, state);
      await savePlatform(tx, next);
      await notifyChange(tx, { kind: 'platform' });
      return { state: next, receipt: await outbox.record(tx, events) };
    }),
});
