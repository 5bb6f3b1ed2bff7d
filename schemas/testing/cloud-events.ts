/**
 * The rules of CloudEvents 1.0 (JSON format, structured mode), independent of our schemas, which are checked against them.
 */

const attributeName = /^[a-z0-9]+$/;
// The type String excludes control characters.
const notInStrings = /[\u0000-\u001f\u007f-\u009f]/;
const nonCharacter = /\p{Noncharacter_Code_Point}/u;
const uriReference = /^[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]+$/;
// RFC 3339, with its upper-case T and Z.
const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
const mediaType = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/;
const required = ['id', 'source', 'specversion', 'type'];

const wrongString = (text: string): boolean =>
  text === '' || notInStrings.test(text) || nonCharacter.test(text) || !text.isWellFormed();

const wrongValue = (name: string, value: unknown): string | null => {
  if (typeof value === 'boolean') return null;
  // Type Integer: signed, 32 bits.
  if (typeof value === 'number') return (value | 0) === value ? null : `${name} is too large`;
  if (typeof value !== 'string') return `${name} has an invalid type`;
  if (wrongString(value))
    return `${name} is empty or contains characters that are not allowed in a String`;
  if (name === 'specversion' && value !== '1.0') return 'specversion is not 1.0';
  if (name === 'source' && !uriReference.test(value)) return 'source is not a URI-reference';
  if (name === 'datacontenttype' && !mediaType.test(value))
    return 'datacontenttype is not a media type';
  if (name === 'time' && (!rfc3339.test(value) || Number.isNaN(Date.parse(value)))) {
    return 'time is not a timestamp of RFC 3339';
  }
  return null;
};

/** The faults of a JSON value as a CloudEvent; empty if it is valid. */
export const cloudEventFaults = (json: unknown): readonly string[] => {
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    return ['not a JSON object'];
  const { data, ...attributes } = json as Record<string, unknown>;
  const missing = required.filter((name) => !(name in attributes));
  const faults = Object.entries(attributes).flatMap(([name, value]) => {
    const fault = attributeName.test(name)
      ? wrongValue(name, value)
      : `${name} is not a valid attribute name`;
    return fault === null ? [] : [fault];
  });
  return [
    ...missing.map((name) => `${name} is missing`),
    ...(data === undefined ? ['data is missing'] : []),
    ...faults,
  ];
};
