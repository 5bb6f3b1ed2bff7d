/** The campaign of a destination: its UTM parameters, in visits and statistics as one text. */

/** `null`: the parameter is absent. */
export interface Campaign {
  readonly campaign: string | null;
  readonly source: string | null;
  readonly medium: string | null;
}

const names = ['campaign', 'source', 'medium'] as const satisfies readonly (keyof Campaign)[];

/** The code points of a value that are kept. */
const maxLength = 100;

/** What a query gives a meaning, and what JSON escapes. */
const reserved = /[%&+"\\\u0000-\u001f]/g;

/** A code point has at most two UTF-16 code units, or three characters if it is encoded. */
const value = String.raw`[^&"\\\u0000-\u001f]{0,${3 * maxLength}}`;

/** The form of the text. It needs no escape in JSON. */
export const campaignPattern = new RegExp(
  `^(?:campaign=${value}(?:&source=${value})?(?:&medium=${value})?|source=${value}(?:&medium=${value})?|medium=${value})$`,
);

const encoded = (text: string): string =>
  text.replace(reserved, (character) => {
    return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
  });

/**
 * The present parameters as a query in a fixed order, so that equal campaigns have equal texts; `null`: none is present.
 * Values are cut after 100 code points.
 */
export const writeCampaign = (campaign: Campaign): string | null => {
  const parameters = names.flatMap((name) => {
    const text = campaign[name];
    return text === null
      ? []
      : [`${name}=${encoded(Array.from(text).slice(0, maxLength).join(''))}`];
  });
  return parameters.length === 0 ? null : parameters.join('&');
};

const campaignIn = (parameters: URLSearchParams, prefix: string): Campaign => ({
  campaign: parameters.get(`${prefix}campaign`),
  source: parameters.get(`${prefix}source`),
  medium: parameters.get(`${prefix}medium`),
});

export const readCampaign = (text: string | null): Campaign =>
  campaignIn(new URLSearchParams(text ?? ''), '');

/** The text of the campaign of a destination: of a repeated parameter, the first value counts. */
export const campaignOf = (destination: string): string | null => {
  const [base = ''] = destination.split('#', 1);
  const start = base.indexOf('?');
  if (start < 0) return null;
  return writeCampaign(campaignIn(new URLSearchParams(base.slice(start)), 'utm_'));
};
