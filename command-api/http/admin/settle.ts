import type { OutboxDelivery, Receipt } from '../../../ops/platform/outbox/port.js';
import { json, type Reply } from '../reply.js';

/** How long a change that has taken effect waits for the log to have it. */
const logWithinMs = 2_000;

/** Answers a change that is in effect: as it is, or with 202 while the log has not got its event. */
export type Settle = (receipt: Receipt, status: 200 | 201, body: object) => Promise<Reply>;

export const createSettle =
  (delivery: OutboxDelivery): Settle =>
  async (receipt, status, body) =>
    json((await delivery.logged(receipt, logWithinMs)) ? status : 202, body);
