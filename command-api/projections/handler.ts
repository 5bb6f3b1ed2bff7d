import { decideOne } from '../../ops/ledger/decide.js';
import { platformSwitches } from '../../ops/ledger/platform.js';
import type { Outbox, Receipt } from '../../ops/event-log/outbox/port.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { Actor } from '../../schemas/decision.js';
import type { EventNamed } from '../../schemas/events/catalogue.js';
import { platformSubject } from '../../schemas/folds/platform.js';
import { decideProjectionWork } from './command.js';

/** Records that somebody wants something done to a projection, before it is done. */
export const recordProjectionWork = async (
  ledger: { readonly pool: Pool; readonly outbox: Outbox },
  command: EventNamed<'ProjectionWorkRequested'>['data'],
  actor: Actor,
): Promise<Receipt> => {
  const asked = { subject: platformSubject, command, actor };
  return (await decideOne(ledger, platformSwitches, decideProjectionWork, asked)).receipt;
};
