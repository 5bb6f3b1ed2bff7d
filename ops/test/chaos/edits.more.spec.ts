import { expect } from 'chai';
import { kafkaStartMs } from '../support/kafka.js';
import { proveEdits } from './edits-proof.js';
import { needs } from '../support/needs.js';
import { stackPrograms } from '../support/stack.js';

describe('chaos: edits of links on the stack', () => {
  needs(...stackPrograms);

  it('are served by every edge, with Kafka stopped too, and with old copies in Redis', async function () {
    this.timeout(kafkaStartMs + 120_000);
    const { times, wrong } = await proveEdits({ edits: 30, trustAfterMs: 0 });
    expect(wrong).to.deep.equal([]);
    expect(Object.values(times).map(({ length }) => length)).to.deep.equal([10, 10, 10]);
  });
});
