import type { Logger } from '../logging.js';

/** A ping without an answer for so long means that PostgreSQL is silent. */
const silentAfterMs = 700;

/**
 * Whether PostgreSQL is known to be silent, by the pings of a connection that is never used for anything
 * else. A process that knows asks nothing of PostgreSQL: a statement that waits in a server which hangs
 * would take effect when the server goes on, long after its request was answered with 503.
 */
export class Silence {
  #isSilent = false;

  constructor(private readonly logger: Logger) {}

  get isSilent(): boolean {
    return this.#isSilent;
  }

  /** Nothing can be asked: no connection could be made. */
  begin(): void {
    this.#become(true);
  }

  /** Awaits an answer. A late one is the beginning of a silence; one that comes, its end. */
  async watch<Answer>(answer: Promise<Answer>): Promise<Answer> {
    let late = true;
    const timer = setTimeout(() => {
      // This process may have been busy itself: an answer that has come is read before this is called.
      setImmediate(() => {
        if (late) this.#become(true);
      });
    }, silentAfterMs);
    try {
      const answered = await answer;
      this.#become(false);
      return answered;
    } finally {
      late = false;
      clearTimeout(timer);
    }
  }

  #become(isSilent: boolean): void {
    if (isSilent === this.#isSilent) return;
    this.#isSilent = isSilent;
    if (isSilent) this.logger.warn('PostgreSQL does not answer: what needs it is refused');
    else this.logger.info('PostgreSQL answers again');
  }
}
