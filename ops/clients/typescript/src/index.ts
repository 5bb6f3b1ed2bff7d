import {
  EventStream,
  type EventsQuery,
  type StreamOptions,
  type StreamQuery,
} from './event-stream.js';
import { methodsOf } from './methods.js';
import { operations, type Methods, type Schemas } from './operations.js';
import type { CallOptions, LinklogOptions } from './options.js';
import { Transport } from './transport.js';

interface EventMethods {
  /** One page, in the order of the log. An empty page is the end of the log; its `next` can be used again later. */
  page(query?: EventsQuery, options?: CallOptions): Promise<Schemas['EventPage']>;
  /** Events as they happen, through failures: each once, those of a subject in their order. */
  stream(query?: StreamQuery, options?: StreamOptions): EventStream;
}

/** A client of the API of Linklog. */
export type Linklog = Methods & { readonly events: EventMethods };
export const Linklog = class {
  readonly events: EventMethods;

  constructor(options: LinklogOptions) {
    const transport = new Transport(options);
    Object.assign(this, methodsOf(transport));
    this.events = {
      page: (query, callOptions) =>
        transport.json({ operation: operations.getEvents, query, options: callOptions }),
      stream: (query, streamOptions) => new EventStream(transport, query, streamOptions),
    };
  }
} as unknown as new (options: LinklogOptions) => Linklog;

export * from './errors.js';
export type * from './event-stream.js';
export type * from './list.js';
export type { Schemas } from './operations.js';
export type * from './options.js';
export type { ImportFile } from './standards.js';
export { verifyWebhook, type WebhookHeaders } from './verify-webhook.js';
