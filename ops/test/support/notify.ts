import { notification, type Channel } from '../../platform/postgres/listener.js';
import { execute, type Queryable } from '../../platform/postgres/pool.js';
import { writeOnly } from '../../platform/postgres/statement.js';

/** Sends notifications, like any client of PostgreSQL. */
export const notify = (
  postgres: Queryable,
  channel: Channel,
  payloads: readonly string[],
): Promise<void> => execute(postgres, writeOnly([notification(channel, payloads)]));
