import type { Context, Suite } from 'mocha';
import { skipWithout } from './needs.js';

export interface FixtureOptions {
  /** Whether all tests of the suite share the value (default), or each test gets another. */
  readonly per?: 'suite' | 'test';
  /** The programs that it runs; without them, the tests are skipped. */
  readonly needs?: readonly string[];
}

/** For a set-up or all tear-downs; the slowest set-up starts Kafka, and downloads it first. */
const timeoutMs = 300_000;

type TearDown = () => unknown;

// The tear-downs by hook.
const tearDowns = {
  afterAll: new WeakMap<Suite, TearDown[]>(),
  afterEach: new WeakMap<Suite, TearDown[]>(),
};

const runAll = async (steps: readonly TearDown[]): Promise<void> => {
  const failures: unknown[] = [];
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 1) throw new AggregateError(failures, failures.map(String).join('\n'));
  if (failures.length === 1) throw failures[0];
};

/** Registers the hook during the set-up, so that it runs after all hooks that the suite declares. */
const tearDownLater = (context: Context, hook: keyof typeof tearDowns, step: TearDown): void => {
  const suite = context.test?.parent;
  if (!suite) throw new Error('a fixture must be set up by a hook of a suite');
  const existing = tearDowns[hook].get(suite);
  if (existing) {
    existing.push(step);
    return;
  }
  const steps = [step];
  tearDowns[hook].set(suite, steps);
  suite[hook]('tear down the fixtures', async function () {
    this.timeout(timeoutMs);
    await runAll(steps.splice(0).reverse());
  });
};

/**
 * A value that is set up before the tests of the surrounding `describe`, in the order of the declarations, and torn
 * down in reverse order, after the hooks of the suite. Hooks and tests use the returned object like the value.
 */
export const fixture = <Value extends object>(
  setUp: () => Value | Promise<Value>,
  tearDown: (value: Value) => unknown = () => undefined,
  { per = 'suite', needs = [] }: FixtureOptions = {},
): Value => {
  let current: Value | null = null;
  const value = (): Value => {
    if (!current) throw new Error('a fixture exists only in hooks and tests');
    return current;
  };
  const [begin, end] =
    per === 'suite' ? ([before, 'afterAll'] as const) : ([beforeEach, 'afterEach'] as const);
  if (needs.length > 0) {
    before('find the programs of a fixture', function () {
      skipWithout(this, needs, (suite) => tearDowns.afterAll.has(suite));
    });
  }
  begin('set up a fixture', async function () {
    this.timeout(timeoutMs);
    const created = await setUp();
    current = created;
    tearDownLater(this, end, () => tearDown(created));
  });
  return new Proxy<Value>({} as Value, {
    // Methods are bound to the value: a proxy has no access to private fields.
    get(_, property) {
      const member: unknown = Reflect.get(value(), property);
      return typeof member === 'function' ? (member.bind(value()) as unknown) : member;
    },
    set: (_, property, member) => Reflect.set(value(), property, member),
    has: (_, property) => Reflect.has(value(), property),
    ownKeys: () => Reflect.ownKeys(value()),
    getPrototypeOf: () => Reflect.getPrototypeOf(value()),
    getOwnPropertyDescriptor(_, property) {
      const descriptor = Reflect.getOwnPropertyDescriptor(value(), property);
      return descriptor && { ...descriptor, configurable: true };
    },
  });
};
