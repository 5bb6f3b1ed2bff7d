/** The double as a process: `node main.js PORT FILE`. Prints its port. */
import { startEventStoreDouble } from './double.js';

const [port = '0', file] = process.argv.slice(2);
const double = await startEventStoreDouble({ port: Number(port), ...(file && { file }) });
process.stdout.write(`${double.port}\n`);
