/** Without dependencies, because the console reads pasted links. */

/** The file cannot be read. The message is for the client. */
export class ImportFileFault extends Error {
  readonly code = 'IMPORT_FILE_FAULT';
}

/** The longest record of a file, in characters. */
export const maxRecordLength = 100_000;
