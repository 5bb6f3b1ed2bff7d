import { InvalidArgumentError } from 'commander';

const integerFrom =
  (minimum: number) =>
  (text: string): number => {
    const value = Number(text);
    if (text === '' || !Number.isSafeInteger(value) || value < minimum) {
      throw new InvalidArgumentError(`expected an integer of at least ${minimum}`);
    }
    return value;
  };

/** Parses an option from 1 on. @throws InvalidArgumentError */
export const wholeNumber = integerFrom(1);

/** Parses an option from 0 on. @throws InvalidArgumentError */
export const wholeNumberOrZero = integerFrom(0);
