import { InvalidArgumentError } from 'commander';

/** An option's number, of which this is the least. */
const numberFrom =
  (least: number) =>
  (text: string): number => {
    const value = Number(text);
    if (text === '' || !Number.isSafeInteger(value) || value < least) {
      throw new InvalidArgumentError(`a whole number from ${least} on is needed`);
    }
    return value;
  };

/** @throws InvalidArgumentError */
export const wholeNumber = numberFrom(1);

/** @throws InvalidArgumentError */
export const wholeNumberOrNone = numberFrom(0);
