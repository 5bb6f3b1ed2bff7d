import pg from 'pg';

/** What pg's connection has, beyond its types. */
interface Connection {
  sync(): void;
  query(text: string): void;
  emit(name: string, message?: unknown): boolean;
}

/** A statement that was sent and is not answered yet. */
interface Unanswered {
  /** The Sync behind a later statement is this one's too. */
  sharesSync: boolean;
}

const inTransaction = { name: 'readyForQuery', status: 'T' };

/** SQLSTATE of a statement that was skipped, since one before it had failed. */
const skipped = '25P02';

const skippedError = (): pg.DatabaseError => {
  const message = 'current transaction is aborted: a statement before this one failed';
  const error = new pg.DatabaseError(message, message.length, 'error');
  return Object.assign(error, { severity: 'ERROR', code: skipped });
};

/** Whether PostgreSQL skipped a statement because of one that was sent before it, whose error is its cause. */
export const wasSkipped = (error: unknown): error is pg.DatabaseError =>
  error instanceof pg.DatabaseError && error.code === skipped;

/**
 * Why statements that were sent together failed. Their errors come in one turn, and a caller may hear of one that was
 * skipped before it hears of the one that was to blame.
 */
export const reasonOf = (error: unknown): unknown =>
  (wasSkipped(error) ? error.cause : null) ?? error;

/**
 * Lets statements of a connection (of pg 8) share one Sync. pg sends one behind each, and at each PostgreSQL writes
 * its answer to the socket and wakes this process: on one core, the two take turns for each small statement.
 *
 * Where one of the statements fails, PostgreSQL skips those behind it up to the Sync: they fail too.
 */
export class SharedSync {
  /** Whether statements that are sent from now on wait for `send`. */
  isOn = false;
  #isDue = false;
  /** In the order of the answers. */
  readonly #unanswered: Unanswered[] = [];
  /** The last error of a statement that was not skipped. */
  #failure: unknown;
  readonly #sync: () => void;

  constructor(pgConnection: pg.Connection) {
    const connection = pgConnection as unknown as Connection;
    const query = connection.query.bind(connection);
    const emit = connection.emit.bind(connection);
    this.#sync = connection.sync.bind(connection);
    connection.sync = () => {
      this.#unanswered.push({ sharesSync: this.isOn });
      this.#isDue = this.isOn;
      if (!this.isOn) this.#sync();
    };
    // Of the simple protocol, which has no Sync; PostgreSQL would skip this message too.
    connection.query = (text) => {
      this.send();
      this.#unanswered.push({ sharesSync: false });
      query(text);
    };
    /** pg goes on to the next statement when it hears what a Sync is answered with. */
    const goOn = (): void => {
      this.#unanswered.shift();
      emit('readyForQuery', inTransaction);
    };
    connection.emit = (name, message) => {
      // Before it is heard: who hears it may send the next statement. At a connection's start, it answers none.
      if (name === 'readyForQuery') this.#unanswered.shift();
      if (name === 'errorMessage') this.#explain(message);
      const isHeard = emit(name, message);
      switch (name) {
        case 'commandComplete':
        case 'emptyQuery':
        // Where a parameter could not be written, the statement was not sent.
        case 'closeComplete':
          if (this.#isNextShared()) goOn();
          break;
        case 'errorMessage':
          while (this.#isNextShared()) {
            goOn();
            emit('errorMessage', this.#explain(skippedError()));
          }
      }
      return isHeard;
    };
  }

  /** Sends the Sync that the last statements share, if there are any. */
  send(): void {
    const last = this.#unanswered.at(-1);
    if (!this.#isDue || !last) return;
    this.#isDue = false;
    last.sharesSync = false;
    this.#sync();
  }

  #explain(error: unknown): unknown {
    if (wasSkipped(error)) error.cause = this.#failure;
    else this.#failure = error;
    return error;
  }

  #isNextShared(): boolean {
    return this.#unanswered[0]?.sharesSync === true;
  }
}
