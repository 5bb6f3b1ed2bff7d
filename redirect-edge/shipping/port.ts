import type { Ship } from '../spool/ports.js';

/** How visits get from the spool to the log. */
export interface Shipping {
  readonly ship: Ship;
  /** Gives up what it is doing; the spool offers again what the log may not have. */
  stop(): Promise<void>;
}
