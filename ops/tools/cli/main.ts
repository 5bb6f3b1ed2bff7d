#!/usr/bin/env node
import { readConfig } from '../../config/config.js';
import { reportWarnings } from '../../platform/logging.js';
import { runCommandLine } from './program.js';

// The reader of the output may exit early, as `head` does. That is no failure of the command.
for (const [name, stream] of [
  ['stdout', process.stdout],
  ['stderr', process.stderr],
] as const) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') {
      if (name === 'stdout') process.stderr.write(`linklog: stdout: ${error.message}\n`);
      process.exit(1);
    }
    // Other listeners, as of `untilReaderExits`, end their command.
    if (stream.listenerCount('error') > 1) return;
    // A command that has ended has set the exit code by then.
    if (name === 'stdout') setImmediate(() => process.exit());
  });
}

reportWarnings(({ name, message }) => {
  process.stderr.write(`linklog: ${name}: ${message.replace(/\s+/g, ' ')}\n`);
});

process.exitCode = await runCommandLine(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  readConfig: () => readConfig(),
});
