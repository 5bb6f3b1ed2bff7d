import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { CliError } from './errors.js';

/**
 * Reads the first line of stdin, with a prompt and without echo on a terminal. It is not an argument, because every user
 * of the machine can read command lines.
 *
 * @throws CliError if it is empty
 */
export const readPassword = async (): Promise<string> => {
  const { stdin, stderr } = process;
  const silent = new Writable({
    write(_chunk, _encoding, done) {
      done();
    },
  });
  if (stdin.isTTY) stderr.write('Password: ');
  const lines = createInterface({ input: stdin, output: silent, terminal: stdin.isTTY });
  try {
    for await (const line of lines) {
      if (line !== '') return line;
      break;
    }
  } finally {
    lines.close();
    if (stdin.isTTY) stderr.write('\n');
  }
  throw new CliError('USAGE', 'the password is empty: it is the first line of stdin');
};
