import type { Logger } from '../logging.js';

/** Time without a response to a ping after which PostgreSQL is silent (ms). */
const silentAfterMs = 700;

/**
 * Whether PostgreSQL is silent, according to the pings of a dedicated connection. Meanwhile no statements are sent, because
 * a server that hangs would execute them when it continues, long after the request got 503.
 */
export class Silence {
  #isSilent = false;

  constructor(private readonly logger: Logger) {}

  get isSilent(): boolean {
    return this.#isSilent;
  }

  /** Called when no connection can be made. */
  begin(): void {
    this.#become(true);
  }

  /** Awaits a response. A late response starts a silence, and a response ends it. */
  async watch<Response>(response: Promise<Response>): Promise<Response> {
    let late = true;
    const timer = setTimeout(() => {
      // If this process was busy, it reads a response that has arrived first.
      setImmediate(() => {
        if (late) this.#become(true);
      });
    }, silentAfterMs);
    try {
      const result = await response;
      this.#become(false);
      return result;
    } finally {
      late = false;
      clearTimeout(timer);
    }
  }

  #become(isSilent: boolean): void {
    if (isSilent === this.#isSilent) return;
    this.#isSilent = isSilent;
    if (isSilent) this.logger.warn('postgres is unreachable; requests get 503');
    else this.logger.info('postgres is reachable again');
  }
}
