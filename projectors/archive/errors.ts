/** The archive does not answer, or not now: the same again may be taken. */
export class ArchiveUnavailable extends Error {
  readonly retryable = true;

  constructor(
    /** Such as `UNAVAILABLE`, `DEADLINE_EXCEEDED`, `ACCESS_DENIED`. */
    readonly code: string,
    cause: unknown,
  ) {
    super('The archive cannot be used', { cause });
  }
}

/** A stream ends before where we had an answer that it ends: EventStoreDB has lost events. */
export class ArchiveCut extends Error {
  readonly code = 'ARCHIVE_CUT';
  readonly retryable = true;

  constructor(stream: string, revision: number) {
    super(
      `The archive's stream ${stream} has no revision ${revision - 1}, which it had: was ` +
        `EventStoreDB restored from an older copy, or is it another one?`,
    );
  }
}

/** A stream does not take these events, however often they are sent. */
export class StreamRefused extends Error {
  readonly code = 'STREAM_REFUSED';
  readonly retryable = false;
}

/** More bytes at once than the server takes. */
export class AppendTooLarge extends StreamRefused {}

/** The stream does not end where these events were to begin. */
export class WrongRevision extends Error {
  readonly code = 'WRONG_REVISION';
  readonly retryable = false;
}
