import { createRequire } from 'node:module';

/** What is used of kafkajs's own class: each connection has one of these queues. */
interface RequestQueue {
  readonly pending: readonly unknown[];
}

interface RequestQueueClass {
  readonly prototype: RequestQueue & {
    scheduleCheckPendingRequests?: (this: RequestQueue) => void;
  };
}

const load = createRequire(import.meta.url);
const patched = Symbol.for('linklog.kafkajs.idle-connections');

/**
 * kafkajs (2.2.4) looks for pending requests once a millisecond on every connection for as long as
 * it is open, also where none are pending: some 4 % of a core for a connection that does nothing.
 * With nothing pending there is nothing to look for: each new request that must wait asks for a look
 * of its own. Throws when kafkajs is no longer built that way: then this has to be measured anew.
 */
export const calmIdleConnections = (): void => {
  const { prototype } = load('kafkajs/src/network/requestQueue/index.js') as RequestQueueClass;
  if (patched in prototype) return;
  const schedule = prototype.scheduleCheckPendingRequests;
  if (schedule === undefined) throw new Error('kafkajs is built in another way than was measured');
  prototype.scheduleCheckPendingRequests = function scheduleWhilePending() {
    if (this.pending.length > 0) schedule.call(this);
  };
  Object.defineProperty(prototype, patched, { value: true });
};
