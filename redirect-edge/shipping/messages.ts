import type { KafkaSettings } from '../../ops/platform/event-log/kafka/settings.js';
import type { Shipped } from '../spool/ports.js';

/** What the worker is started with. */
export interface WorkerSettings {
  readonly kafka: KafkaSettings;
  /** Whether it reports what kafkajs logs. */
  readonly debug: boolean;
}

/** Asks the worker to ship a chunk of shared memory. */
export interface ChunkToShip {
  readonly id: number;
  readonly chunk: Uint8Array<SharedArrayBuffer>;
}

/** What the worker says: what became of a chunk, or a line for the log. */
export type WorkerReport =
  | { readonly id: number; readonly shipped: Shipped }
  | { readonly id: number; readonly error: unknown }
  | { readonly details: object; readonly message: string };
