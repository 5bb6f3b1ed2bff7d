import { decideOne } from '../../ops/ledger/decide.js';
import { platformSwitches } from '../../ops/ledger/platform.js';
import type { Outbox } from '../../ops/platform/outbox/port.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { Actor } from '../../schemas/decision.js';
import { platformSubject } from '../../schemas/folds/platform.js';
import { decidePlatform, type SwitchPlatform } from '../domain/platform.js';

/** Sets switches and records an event for each that changed, in one transaction. */
export const switchPlatform = (pool: Pool, outbox: Outbox, command: SwitchPlatform, actor: Actor) =>
  decideOne(pool, outbox, platformSwitches, {
    ...actor,
    subject: platformSubject,
    decide: (state, context) => decidePlatform(command, state, context),
  });
