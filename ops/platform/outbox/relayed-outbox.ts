import type { NotificationListener } from '../postgres/listener.js';
import type { Pool } from '../postgres/pool.js';
import type { Outbox, Receipt } from './port.js';

/** How long the log proper may have been without an event before no new ones are decided. */
const stalledAfter = '1 second';
/** How long an answer to whether that is so holds. */
const stalledMs = 100;

/** How often who waits for everything looks for itself. */
const lookUpEveryMs = 1_000;

interface Waiting {
  readonly receipt: Receipt;
  readonly resolve: (logged: boolean) => void;
}

const parseSent = (payload: string): readonly (readonly [number, number])[] =>
  JSON.parse(payload) as [number, number][];

export interface RelayedOutbox extends Outbox {
  stop(): void;
}

/** The outbox whose events a relay sends to the log proper: hears of what was sent, on any node. */
export const openRelayedOutbox = async (options: {
  readonly pool: Pool;
  /** Hears `linklog_sent`. */
  readonly listener: NotificationListener;
  /** Records events, and finds them. */
  readonly outbox: Pick<Outbox, 'record' | 'after'>;
}): Promise<RelayedOutbox> => {
  const { pool, listener, outbox } = options;
  await pool.query(
    `INSERT INTO log.relayed (partition_id, next_offset) SELECT id, 0 FROM log.partitions
     ON CONFLICT DO NOTHING`,
  );
  const sent = new Map<number, number>();
  const waiting = new Set<Waiting>();
  let stalled: { readonly until: number; readonly answer: Promise<boolean> } | undefined;

  const isSent = (receipt: Receipt): boolean =>
    receipt.every(({ partitionId, next }) => (sent.get(partitionId) ?? 0) >= next);

  const hear = (ends: readonly (readonly [number, number])[]): void => {
    for (const [partitionId, next] of ends) {
      sent.set(partitionId, Math.max(next, sent.get(partitionId) ?? 0));
    }
    for (const waiter of waiting) if (isSent(waiter.receipt)) waiter.resolve(true);
  };

  const lookUp = async (): Promise<void> => {
    const { rows } = await pool.query<{ id: number; next: number }>(
      'SELECT partition_id AS id, next_offset AS next FROM log.relayed',
    );
    hear(rows.map(({ id, next }) => [id, next]));
  };

  const unsubscribe = [
    listener.on('linklog_sent', (payload) => {
      hear(parseSent(payload));
    }),
    listener.onGap((state) => {
      // Who waits is answered by the time-out when this fails too.
      if (state === 'back' && waiting.size > 0) lookUp().catch(() => undefined);
    }),
  ];

  const askIsStalled = async (): Promise<boolean> => {
    const { rows } = await pool.query<{ stalled: boolean }>({
      name: 'outbox-stalled',
      text: `SELECT EXISTS (
               SELECT FROM log.relayed r
               JOIN log.events e ON e.partition_id = r.partition_id AND e.record_offset = r.next_offset
               WHERE (e.value::json ->> 'time')::timestamptz
                     < clock_timestamp() - interval '${stalledAfter}'
             ) AS stalled`,
    });
    return rows[0]?.stalled ?? false;
  };

  const logged = async (receipt: Receipt, withinMs: number): Promise<boolean> => {
    if (isSent(receipt)) return true;
    return new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => {
        waiter.resolve(false);
      }, withinMs);
      const waiter: Waiting = {
        receipt,
        resolve(answer) {
          clearTimeout(timer);
          waiting.delete(waiter);
          resolve(answer);
        },
      };
      waiting.add(waiter);
    });
  };

  return {
    record: (tx, events) => outbox.record(tx, events),
    after: (topic, known) => outbox.after(topic, known),

    logged,

    async hasLoggedFirst(topic, subjects) {
      const { rows } = await pool.query<{ unsent: boolean }>({
        name: 'outbox-unsent',
        text: `SELECT EXISTS (
                 SELECT FROM log.events e
                 JOIN log.partitions p ON p.id = e.partition_id AND p.topic = $1
                 JOIN log.relayed r ON r.partition_id = e.partition_id
                 WHERE e.key = ANY ($2::text[]) AND e.ledger_sequence = 1
                   AND e.record_offset >= r.next_offset
               ) AS unsent`,
        values: [topic, subjects],
      });
      return rows[0]?.unsent === false;
    },

    async settled() {
      const { rows } = await pool.query<Receipt[number]>(
        'SELECT id AS "partitionId", next_offset AS next FROM log.partitions',
      );
      do await lookUp();
      while (!(await logged(rows, lookUpEveryMs)));
    },

    isStalled() {
      const now = performance.now();
      if (!stalled || stalled.until < now) {
        stalled = { until: now + stalledMs, answer: askIsStalled() };
      }
      return stalled.answer;
    },

    stop() {
      for (const stop of unsubscribe) stop();
      for (const waiter of waiting) waiter.resolve(false);
    },
  };
};
