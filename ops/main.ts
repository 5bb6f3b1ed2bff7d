import { setFlagsFromString } from 'node:v8';
import { requireFileDescriptors } from './platform/process/file-descriptors.js';
import { runToEnd } from './platform/process/lifecycle.js';

// A full mark delays requests by 20 to 80 ms on two cores. By default, V8 marks every few seconds under load; with this
// flag, when the heap is 2.5 times the size of its live objects.
setFlagsFromString('--heap-growing-percent=150');
// Pretenuring allocates responses in the old generation, where they keep megabytes alive after their end. Without it, a
// collection of the young generation lasts 2 ms instead of 6 ms.
setFlagsFromString('--no-allocation-site-pretenuring');

runToEnd(async () => {
  requireFileDescriptors();
  // Imported after the check, because Node.js opens more than 100 files concurrently to load all modules.
  const { run } = await import('./app/run.js');
  await run(process.argv.slice(2));
});
