import { expect } from 'chai';
import { deferred } from '../../ops/platform/concurrency/deferred.js';
import { hashesAtOnce } from '../../ops/platform/passwords/password-hasher.js';
import { Turns, type Standing } from './turns.js';

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The turns of tries that end when they are told to. */
const manual = () => {
  const rests: { readonly ms: number; readonly end: () => void }[] = [];
  const turns = new Turns((ms) => {
    const rest = deferred();
    rests.push({ ms, end: rest.resolve });
    return rest.promise;
  });
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const enter = (
    name: string,
    {
      network = 'unsuspected',
      code = 'spring',
      failures = [0, 0, 0],
      failuresOfLink = 0,
    }: Partial<Standing & { readonly code: string }> = {},
  ): Promise<string | null> =>
    turns.run(
      { code, standing: () => ({ network, failures, failuresOfLink }) },
      async () => {
        begun.push(name);
        const end = deferred();
        ends.set(name, end.resolve);
        await end.promise;
        return name;
      },
      () => 300,
    );
  const end = async (...names: readonly string[]): Promise<void> => {
    for (const name of names) {
      ends.get(name)?.();
      await tick();
    }
  };
  /** As many tries as may be under way at once. */
  const busy = Array.from({ length: hashesAtOnce + 1 }, (_, index) => `busy ${index}`);
  const fill = async (): Promise<void> => {
    for (const name of busy) void enter(name, { code: name });
    await tick();
    expect(begun.splice(0)).to.deep.equal(busy);
  };
  return { turns, begun, rests, enter, end, busy, fill };
};

describe('redirect edge: turns of password tries', () => {
  it('come first to those whose networks failed least: the own, then those around it', async () => {
    const { begun, enter, end, busy, fill } = manual();
    await fill();
    void enter('far', { failures: [0, 0, 9] });
    void enter('near', { failures: [0, 1, 9] });
    void enter('fresh', { failuresOfLink: 99 });
    await end(...busy, 'fresh', 'far', 'near');
    expect(begun).to.deep.equal(['fresh', 'far', 'near']);
  });

  it('go from link to link', async () => {
    const { begun, enter, end, busy, fill } = manual();
    await fill();
    for (const name of ['a1', 'a2', 'a3']) void enter(name, { code: 'a' });
    for (const name of ['b1', 'b2']) void enter(name, { code: 'b' });
    await end(...busy, 'a1', 'b1', 'a2', 'b2', 'a3');
    expect(begun).to.deep.equal(['a1', 'b1', 'a2', 'b2', 'a3']);
  });

  it('are refused to the last in line when it is full, not to who comes last', async () => {
    const { turns, begun, enter, end, busy, fill } = manual();
    await fill();
    const flood = Array.from({ length: 64 }, (_, index) => enter(`guess ${index}`));
    const visitor = enter('visitor', { code: 'autumn' });
    expect(await flood.at(-1)).to.equal(null);
    expect([turns.refused.unsuspected, turns.waiting.unsuspected]).to.deep.equal([1, 64]);
    await end(...busy);
    expect(begun.slice(0, 2)).to.deep.equal(['guess 0', 'visitor']);
    await end('visitor');
    expect(await visitor).to.equal('visitor');
  });

  it('are refused to those who became suspected while they waited, before others', async () => {
    const { turns, enter, fill } = manual();
    await fill();
    let network: Standing['network'] = 'unsuspected';
    const standing = () => ({ network, failures: [0, 0, 0], failuresOfLink: 0 });
    const wait = (): Promise<string | null> =>
      turns.run(
        { code: 'spring', standing },
        () => Promise.resolve('in'),
        () => 0,
      );
    void Promise.all(Array.from({ length: 64 }, wait));
    network = 'suspected';
    void enter('visitor');
    expect(turns.waiting).to.deep.equal({ unsuspected: 1, suspected: 16 });
    expect(turns.refused).to.deep.equal({ unsuspected: 0, suspected: 48 });
  });

  it('of suspected tries come one at a time, with rests between them that others use', async () => {
    const { begun, rests, enter, end } = manual();
    for (const name of ['s1', 's2', 's3']) void enter(name, { network: 'suspected' });
    await tick();
    expect(begun).to.deep.equal(['s1']);
    void enter('fresh');
    await end('s1', 'fresh');
    expect(begun).to.deep.equal(['s1', 'fresh']);
    expect(rests.map(({ ms }) => ms)).to.deep.equal([300]);
    rests[0]?.end();
    await tick();
    expect(begun).to.deep.equal(['s1', 'fresh', 's2']);
  });

  it('of suspected tries come after each rest, however many others wait', async () => {
    const { begun, enter, end, busy, fill } = manual();
    await fill();
    for (const name of ['fresh 1', 'fresh 2']) void enter(name);
    void enter('suspected', { network: 'suspected' });
    await end(...busy.slice(0, 1));
    expect(begun).to.deep.equal(['suspected']);
  });

  it('fail for all who wait when they are told to', async () => {
    const { turns, enter, fill } = manual();
    await fill();
    const waiting = [enter('one'), enter('other', { network: 'suspected' })];
    turns.fail(new Error('away'));
    for (const { status } of await Promise.allSettled(waiting)) expect(status).to.equal('rejected');
    expect(turns.waiting).to.deep.equal({ unsuspected: 0, suspected: 0 });
    expect(turns.refused).to.deep.equal({ unsuspected: 0, suspected: 0 });
  });

  it('come after a try that failed', async () => {
    const turns = new Turns();
    const fail = (): Promise<never> => Promise.reject(new Error('No'));
    const failures = [1, 0, 0];
    const standing = () => ({ network: 'suspected' as const, failures, failuresOfLink: 0 });
    const run = <Outcome>(work: () => Promise<Outcome>): Promise<Outcome | null> =>
      turns.run({ code: 'a', standing }, work, () => 0);
    const error: unknown = await run(fail).catch((reason: unknown) => reason);
    expect(error).to.have.property('message', 'No');
    expect(await run(() => Promise.resolve('in'))).to.equal('in');
  });
});
