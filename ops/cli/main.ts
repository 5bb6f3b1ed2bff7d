#!/usr/bin/env node
import { readConfig } from '../platform/config.js';
import { run } from './program.js';

// Whoever reads the output may stop early, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') process.stderr.write(`linklog: stdout: ${error.message}\n`);
  process.exit(1);
});

process.exitCode = await run(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  readConfig: () => readConfig(),
});
