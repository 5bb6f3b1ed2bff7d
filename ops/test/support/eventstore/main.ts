/** The double as a process of its own: `node main.js PORT FILE`. It says its port in its first line. */
import { startEventStoreDouble } from './double.js';

const [port = '0', file] = process.argv.slice(2);
const double = await startEventStoreDouble({ port: Number(port), ...(file && { file }) });
process.stdout.write(`${double.port}\n`);
