/**
 * `npm run lint`: runs all checks, as many at a time as there are cores. Prints the output of each when it ends, and
 * fails if one fails.
 */
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';

/** The longest first, so that the short ones fill the gaps. */
const checks = [
  'prettier --check --log-level warn .',
  'oxlint',
  'depcruise --config .dependency-cruiser.mjs command-api ops projectors redirect-edge schemas',
  'node ops/lint/words.mjs',
  'node ops/lint/console-texts.mjs',
];

/** npm has put `node_modules/.bin` into `PATH`. */
const run = (command) =>
  new Promise((resolve) => {
    const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
    const output = [];
    child.stdout.on('data', (chunk) => output.push(chunk));
    child.stderr.on('data', (chunk) => output.push(chunk));
    child.once('close', (code) => {
      const isPassed = code === 0;
      console.log(`${isPassed ? 'passed' : 'FAILED'}: ${command}`);
      process.stdout.write(Buffer.concat(output));
      resolve(isPassed);
    });
  });

const remaining = [...checks];
const runRemaining = async () => {
  for (let command = remaining.shift(); command !== undefined; command = remaining.shift()) {
    if (!(await run(command))) process.exitCode = 1;
  }
};
await Promise.all(Array.from({ length: availableParallelism() }, runRemaining));
