import { fuzz } from './fuzz.js';

const { exitCode, report, errors } = await fuzz(process.argv.slice(2));
process.stdout.write(report);
for (const error of errors) process.stdout.write(`LOGGED: ${error}\n`);
process.exitCode = exitCode === 0 && errors.length > 0 ? 1 : exitCode;
