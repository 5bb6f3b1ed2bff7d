import { once } from 'node:events';
import type { Changed } from './client.js';

/** The output of a command; without `json` and `text` if the command has written to stdout itself. */
export interface Output {
  /** Printed with `--json`. */
  readonly json?: object;
  /** The text without the final line end. */
  readonly text?: string;
  /** Printed on stderr, also with `--json`. */
  readonly notice?: string | undefined;
  /** 0 by default. */
  readonly exitCode?: number;
}

/** Returns the output of a change, with a notice while its event is not in the log yet. */
export const changed = <Value extends object>(
  { value, inLog }: Changed<Value>,
  textOf: (value: Value) => string,
): Output => ({
  json: value,
  text: textOf(value),
  notice: inLog
    ? undefined
    : 'the change is in effect; its event is sent when the log is available again',
});

/** Writes to stdout. Resolves when its reader may get more. */
export const writeOut = (part: string | Buffer): Promise<void> =>
  new Promise((resolve, reject) => {
    process.stdout.write(part, (error) => {
      if (error) reject(error);
      else resolve();
    });
  });

export const count = (value: number): string => value.toLocaleString('en-US');

/** `1 link`, `2 links`. */
export const counted = (value: number, noun: string): string =>
  `${count(value)} ${noun}${value === 1 ? '' : 's'}`;

/** Escapes control characters, because a client has chosen the text. */
export const plain = (text: string): string =>
  text.replaceAll(/\p{Cc}/gu, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });

/** The name of an event type, without its version. */
export const eventNameOf = (type: string): string =>
  /^linklog\.(.+)\.v\d+$/.exec(type)?.[1] ?? type;

const isNumeric = (cell: string): boolean => /^(\d[\d,]*|-)$/.test(cell);

/** Formats a table. Columns of numbers are right-aligned. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string => {
  const columns = head.map((title, index) => {
    const cells = rows.map((row) => row[index] ?? '');
    const width = Math.max(title.length, ...cells.map((cell) => cell.length));
    const right = cells.length > 0 && cells.every(isNumeric);
    return (cell: string) => (right ? cell.padStart(width) : cell.padEnd(width));
  });
  const line = (cells: readonly string[]): string =>
    columns
      .map((pad, index) => pad(cells[index] ?? ''))
      .join('  ')
      .trimEnd();
  return [head, ...rows].map(line).join('\n');
};

/** Formats one line for each entry whose value is not `null`. */
export const formatFields = (entries: readonly (readonly [string, string | null])[]): string => {
  const known = entries.filter(([, value]) => value !== null);
  const width = Math.max(...known.map(([name]) => name.length));
  return known.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n');
};

export const appendToStdout =
  (signal: AbortSignal) =>
  async (chunk: Buffer | string): Promise<void> => {
    if (!process.stdout.write(chunk)) await once(process.stdout, 'drain', { signal });
  };
