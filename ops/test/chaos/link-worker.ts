import { parentPort, workerData } from 'node:worker_threads';
import { startTcpProxy, type Disturbance } from '../support/tcp-proxy.js';

const proxy = await startTcpProxy(workerData as string);
parentPort?.on('message', ({ how, slowMs }: { how: Disturbance | null; slowMs?: number }) => {
  if (how === null) proxy.mend();
  else proxy.disturb(how, slowMs);
});
parentPort?.postMessage(proxy.url);
