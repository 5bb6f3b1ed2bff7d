const zeroQuality = /^q=0(\.0*)?$/i;

/**
 * Whether an `Accept` header accepts `text/html` by name (not with `q=0`). Wildcards do not count: a client that
 * accepts everything is not a browser.
 */
export const namesHtml = (accept: string | undefined): boolean =>
  accept?.split(',').some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    return (
      type.toLowerCase() === 'text/html' &&
      !parameters.some((parameter) => zeroQuality.test(parameter))
    );
  }) ?? false;
