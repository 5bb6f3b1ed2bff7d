import { kafkaStartMs } from './kafka.js';
import type { Context, Suite } from 'mocha';

export interface FixtureOptions {
  /** Whether all tests of the suite share the value, or each test gets its own. The default is `suite`. */
  readonly per?: 'suite' | 'test';
}

/** Of a set-up or of all tear-downs; the slowest set-up starts Kafka. */
const timeoutMs = kafkaStartMs;

type TearDown = () => unknown;

// By the hook that runs them.
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

/** Registers the hook when a set-up runs, so that it comes after all hooks that the suite declares. */
const tearDownLater = (context: Context, hook: keyof typeof tearDowns, step: TearDown): void => {
  const suite = context.test?.parent;
  if (!suite) throw new Error('a fixture is set up by a hook of its suite');
  const known = tearDowns[hook].get(suite);
  if (known) {
    known.push(step);
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
 * down in reverse order, after the suite's own hooks. Hooks and tests use the returned object as the value itself.
 */
export const fixture = <Value extends object>(
  setUp: () => Value | Promise<Value>,
  tearDown: (value: Value) => unknown = () => undefined,
  { per = 'suite' }: FixtureOptions = {},
): Value => {
  let current: Value | null = null;
  const value = (): Value => {
    if (!current) throw new Error('a fixture exists in hooks and tests only');
    return current;
  };
  const [begin, end] =
    per === 'suite' ? ([before, 'afterAll'] as const) : ([beforeEach, 'afterEach'] as const);
  begin('set up a fixture', async function () {
    this.timeout(timeoutMs);
    const made = await setUp();
    current = made;
    tearDownLater(this, end, () => tearDown(made));
  });
  return new Proxy<Value>({} as Value, {
    // Methods run on the value: a proxy has none of its private fields.
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
