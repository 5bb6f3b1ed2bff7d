#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8';
import { readConfig } from '../../config/config.js';
import { runCommandLine } from './program.js';

// Commands run beside the service, some of them over a log of any length. A heap that grows by half at
// most before it is cleaned takes half of the memory (175 MB for a replay, not 310), a quarter more time.
setFlagsFromString('--heap-growing-percent=50');

// Whoever reads the output may stop early, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') process.stderr.write(`linklog: stdout: ${error.message}\n`);
  process.exit(1);
});

process.exitCode = await runCommandLine(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  readConfig: () => readConfig(),
});
