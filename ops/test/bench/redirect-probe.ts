/** A worker of main-thread.js: sends a redirect every 20 ms, and returns the 99th percentile of the response time (ms). */
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { sendRequest } from '../support/http.js';

const { url, seconds } = workerData as { readonly url: string; readonly seconds: number };
const everyMs = 20;
const times: number[] = [];
const requests = Array.from({ length: (seconds * 1_000) / everyMs }, async (_, index) => {
  await sleep(index * everyMs);
  const startedAt = performance.now();
  const { status } = await sendRequest(url);
  if (status !== 302) throw new Error(`the redirect got ${status}`);
  times.push(performance.now() - startedAt);
});
await Promise.all(requests);
parentPort?.postMessage(times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)]);
