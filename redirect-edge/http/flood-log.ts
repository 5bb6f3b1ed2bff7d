/**
 * Tells of what may happen thousands of times a second: at once when it begins, and then once in
 * `everyMs`, with how often it has happened since.
 */
export const createFloodLog = (
  everyMs: number,
  tell: (times: number) => void,
): ((now: number) => void) => {
  let times = 0;
  let toldAt = -Infinity;
  return (now) => {
    times += 1;
    if (now - toldAt < everyMs) return;
    tell(times);
    times = 0;
    toldAt = now;
  };
};
