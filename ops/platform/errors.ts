/** Whether an error, of a system call say, has one of these codes. */
export const hasCode = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof Error && 'code' in error && codes.includes(String(error.code));

/** What a promise gives; `null` where it rejects with one of these codes. */
export const nullOn = async <Value>(
  value: Promise<Value>,
  ...codes: readonly string[]
): Promise<Value | null> => {
  try {
    return await value;
  } catch (error) {
    if (hasCode(error, ...codes)) return null;
    throw error;
  }
};

/** What a function returns; `null` where it throws an error with one of these codes. */
export const nullOnThrow = <Value>(get: () => Value, ...codes: readonly string[]): Value | null => {
  try {
    return get();
  } catch (error) {
    if (hasCode(error, ...codes)) return null;
    throw error;
  }
};
