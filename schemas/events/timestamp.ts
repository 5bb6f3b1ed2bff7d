/** The date of the last event, and when that day began: most events of a log have the date of the one before. */
let date = '';
let midnight = 0;

const zero = 0x30;

/** Of a number with two digits. */
const twoDigitsAt = (text: string, index: number): number =>
  10 * text.charCodeAt(index) + text.charCodeAt(index + 1) - 11 * zero;

/** The time of an event in milliseconds since 1970. `Date.parse` takes four times as long. */
export const millisecondsOf = (time: string): number => {
  if (date === '' || !time.startsWith(date)) {
    date = time.slice(0, 10);
    midnight = Date.parse(date);
  }
  const minutes = 60 * twoDigitsAt(time, 11) + twoDigitsAt(time, 14);
  const hundredths = 100 * twoDigitsAt(time, 17) + twoDigitsAt(time, 20);
  return midnight + 60_000 * minutes + 10 * hundredths + time.charCodeAt(22) - zero;
};
