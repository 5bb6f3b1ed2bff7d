import { decideOne } from '../../ops/ledger/decide.js';
import { platformSwitches, readPlatform } from '../../ops/ledger/platform.js';
import type { Outbox, Receipt } from '../../ops/platform/outbox/port.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { Actor } from '../../schemas/decision.js';
import { platformSubject, type PlatformState } from '../../schemas/folds/platform.js';
import { decidePlatform, type SwitchPlatform } from '../domain/platform.js';

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
    decideOne(pool, outbox, platformSwitches, {
      ...actor,
      subject: platformSubject,
      decide: (state, context) => decidePlatform(command, state, context),
    }),
});
