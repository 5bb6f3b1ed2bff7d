/** The slowest upload, so that clients that send nearly nothing do not take the places of others. */
const least = { bytesPerSecond: 1_000, overMs: 10_000 };

/** The client sends too little. */
export class UploadTooSlow extends Error {
  readonly code = 'UPLOAD_TOO_SLOW';
}

/**
 * Passes chunks on while the client sends enough of them. Only the time in which the reader waits for the client counts.
 *
 * @param now milliseconds
 * @throws UploadTooSlow
 */
export async function* requireRate(
  chunks: AsyncIterable<Uint8Array>,
  now: () => number = () => performance.now(),
): AsyncIterable<Uint8Array> {
  let waitedMs = 0;
  let bytes = 0;
  let waitsSince = now();
  for await (const chunk of chunks) {
    waitedMs += now() - waitsSince;
    bytes += chunk.length;
    if (waitedMs >= least.overMs) {
      if (bytes < (waitedMs / 1_000) * least.bytesPerSecond) {
        throw new UploadTooSlow(`${bytes} bytes in ${Math.round(waitedMs)} ms`);
      }
      waitedMs = 0;
      bytes = 0;
    }
    yield chunk;
    waitsSince = now();
  }
}
