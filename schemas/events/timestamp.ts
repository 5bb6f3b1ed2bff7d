/** The date of the last event and the start of that day: most events of a log have the date of the previous event. */
let date = '';
let midnight = 0;

const zero = 0x30;

/** The number of two digits. */
const twoDigitsAt = (text: string, index: number): number =>
  10 * text.charCodeAt(index) + text.charCodeAt(index + 1) - 11 * zero;

/** Parses the time of an event to milliseconds since 1970. `Date.parse` takes four times as long. */
export const millisecondsOf = (time: string): number => {
  if (date === '' || !time.startsWith(date)) {
    date = time.slice(0, 10);
    midnight = Date.parse(date);
  }
  const minutes = 60 * twoDigitsAt(time, 11) + twoDigitsAt(time, 14);
  const hundredths = 100 * twoDigitsAt(time, 17) + twoDigitsAt(time, 20);
  return midnight + 60_000 * minutes + 10 * hundredths + time.charCodeAt(22) - zero;
};
