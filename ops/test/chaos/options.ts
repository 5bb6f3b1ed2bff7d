import { InvalidArgumentError } from 'commander';

/** An option's number. @throws InvalidArgumentError */
export const wholeNumber = (text: string): number => {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new InvalidArgumentError('a whole number from 1 on is needed');
  }
  return value;
};
