const qOfNothing = /^q=0(\.0*)?$/i;

/**
 * Whether an `Accept` header names `text/html`, and not only to refuse it (`q=0`). Wildcards name
 * nothing: who takes everything is no browser.
 */
export const namesHtml = (accept: string | undefined): boolean =>
  accept?.split(',').some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    return (
      type.toLowerCase() === 'text/html' &&
      !parameters.some((parameter) => qOfNothing.test(parameter))
    );
  }) ?? false;
