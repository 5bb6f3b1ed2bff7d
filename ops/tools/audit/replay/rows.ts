import { withoutSecrets } from '../../../../schemas/events/redact.js';
import type { PlacedEvent } from './order.js';

/** An event as a row of a table, without secrets. */
export interface Row {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly time: string;
  readonly type: string;
  readonly subject: string;
  readonly account: string | null;
  readonly actor: string | null;
  readonly correlationid: string | null;
  readonly causationid: string | null;
  readonly source: string;
  readonly sequence: number;
  readonly id: string;
  /** JSON. */
  readonly data: string;
}

export const rowOf = ({ topic, partition, offset, event }: PlacedEvent): Row => {
  const { data } = withoutSecrets(event) as { readonly data: object };
  return {
    topic,
    partition,
    offset,
    time: event.time,
    type: event.type,
    subject: event.subject,
    account: event.account ?? null,
    actor: event.actor ?? null,
    correlationid: event.correlationid ?? null,
    causationid: event.causationid ?? null,
    source: event.source,
    sequence: event.sequence,
    id: event.id,
    data: JSON.stringify(data),
  };
};

export const columns = [
  'topic',
  'partition',
  'offset',
  'time',
  'type',
  'subject',
  'account',
  'actor',
  'correlationid',
  'causationid',
  'source',
  'sequence',
  'id',
  'data',
] as const satisfies readonly (keyof Row)[];
