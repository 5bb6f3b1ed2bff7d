import { expect } from 'chai';
import { rejection } from '../../ops/test/support/waiting.js';
import { requireRate, UploadTooSlow } from './upload.js';

/** Reads chunks of so many bytes, for each of which the reader waits so long (ms), and then works. */
const read = async (count: number, bytes: number, waitMs: number, workMs = 0): Promise<number> => {
  let time = 0;
  const chunks = (async function* () {
    for (let index = 0; index < count; index += 1) {
      time += waitMs;
      yield await Promise.resolve(new Uint8Array(bytes));
    }
  })();
  let received = 0;
  for await (const chunk of requireRate(chunks, () => time)) {
    received += chunk.length;
    time += workMs;
  }
  return received;
};

describe('imports: rate of an upload', () => {
  it('ends an upload of less than 1 KB/s over 10 s', async () => {
    expect(await rejection(read(6, 1, 2_000))).to.be.instanceOf(UploadTooSlow);
    expect(await rejection(read(11, 999, 1_000))).to.be.instanceOf(UploadTooSlow);
  });

  it('passes an upload of 1 KB/s, also with short pauses', async () => {
    expect(await read(100, 1_000, 1_000)).to.equal(100_000);
    expect(await read(20, 10_000, 9_000)).to.equal(200_000);
  });

  it('does not count the time in which the service works', async () => {
    expect(await read(20, 1, 1, 60_000)).to.equal(20);
  });
});
