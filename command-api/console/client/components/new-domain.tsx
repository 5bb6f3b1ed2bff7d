import { hostIn } from '../../link-filter.js';
import { texts } from '../../all-texts.js';
import { fieldsOf } from '../app/hooks.js';
import { Check, Input } from './field.js';

const { components, domains: text } = texts;

export const NewDomainFields = ({ hint }: { readonly hint: string }) => (
  <>
    <Input
      label={components.domain}
      name="domain"
      required
      maxLength={2_048}
      placeholder={text.domainExample}
      hint={hint}
    />
    <Check name="caseInsensitive" label={text.ignoreCase} />
  </>
);

/** The body of a request for the domain in a form. */
export const newDomainIn = (data: FormData): object => {
  const { domain = '', caseInsensitive, ...fields } = fieldsOf(data);
  const wanted = caseInsensitive === undefined ? {} : { caseInsensitive: true };
  return { ...fields, domain: hostIn(domain), ...wanted };
};
