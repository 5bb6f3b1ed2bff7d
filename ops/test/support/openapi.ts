import { expect } from 'chai';
import { z } from 'zod';
import { openApiDocument, operatorsDocument } from '../../../command-api/http/openapi/document.js';
import type { HttpResponse } from './http.js';

type Json = Readonly<Record<string, unknown>>;

interface Header {
  readonly required?: boolean;
}

interface Response {
  readonly headers?: Readonly<Record<string, Header>>;
  readonly content?: Readonly<Record<string, { readonly schema?: Json }>>;
}

/** An OpenAPI document, with checks of responses against it. */
export class Document {
  readonly #json: Json;
  readonly #paths: readonly { readonly path: string; readonly pattern: RegExp }[];
  readonly #validators = new Map<Json, z.ZodType>();

  constructor(text: string) {
    this.#json = JSON.parse(text) as Json;
    this.#paths = Object.keys(this.#json['paths'] as Json).map((path) => {
      const pattern = path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+');
      return { path, pattern: new RegExp(`^${pattern}$`) };
    });
  }

  /** The value at a JSON pointer, with references resolved. */
  #at(pointer: string): Json | null {
    let value: unknown = this.#json;
    for (const step of pointer.split('/').slice(1)) {
      value = (value as Json)[step.replaceAll('~1', '/').replaceAll('~0', '~')];
      if (value === undefined) return null;
    }
    return this.#resolved(value as Json);
  }

  #resolved(part: Json): Json {
    const ref = part['$ref'];
    return typeof ref === 'string' ? (this.#at(ref.slice(1)) ?? {}) : part;
  }

  /** The validator of a schema, with the schemas that it references. */
  #validator(schema: Json): z.ZodType {
    const validator = this.#validators.get(schema) ?? this.#createValidator(schema);
    this.#validators.set(schema, validator);
    return validator;
  }

  #createValidator(schema: Json): z.ZodType {
    const whole = { ...schema, $defs: this.#at('/components/schemas') };
    const text = JSON.stringify(whole).replaceAll('#/components/schemas/', '#/$defs/');
    return z.fromJSONSchema(JSON.parse(text) as Parameters<typeof z.fromJSONSchema>[0]);
  }

  /** The path of the document that matches the path of a request, such as `/v2/qr/{shortCode}`. */
  pathOf(requested: string): string | undefined {
    return this.#paths.find(({ pattern }) => pattern.test(requested))?.path;
  }

  /** Checks status, headers and body of a response of this operation. */
  expectDescribed(
    method: string,
    path: string,
    actual: Pick<HttpResponse, 'status' | 'headers' | 'text' | 'json'>,
  ): void {
    // An operation has one success in the document, so that clients have one type. Its text describes 304.
    if (actual.status === 304) return;
    const what = `${method} ${path}: ${actual.status}`;
    const operation = `/paths/${path.replaceAll('/', '~1')}/${method.toLowerCase()}`;
    const response = this.#at(`${operation}/responses/${actual.status}`) as Response | null;
    if (!response) throw new Error(`${what} is not in the document: ${actual.text}`);
    for (const [name, header] of Object.entries(response.headers ?? {})) {
      if ((this.#resolved(header as Json) as Header).required !== true) continue;
      expect(actual.headers, what).to.have.property(name.toLowerCase());
    }
    const type = actual.headers['content-type']?.split(';')[0];
    if (!response.content) {
      expect(actual.text, what).to.equal('');
      return;
    }
    if (type === 'text/csv' && actual.status === 200 && withCsv.includes(path)) return;
    const content = response.content[type ?? ''];
    if (!content) throw new Error(`${what}: ${type ?? 'no content type'} is not in the document`);
    if (!content.schema || type !== 'application/json') return;
    const { error } = this.#validator(content.schema).safeParse(actual.json());
    expect(error?.message, `${what}: ${actual.text}`).to.equal(undefined);
  }

  /** The documented statuses of an operation. */
  statusesOf(method: string, path: string): string[] {
    const operation = `/paths/${path.replaceAll('/', '~1')}/${method.toLowerCase()}`;
    return Object.keys(this.#at(`${operation}/responses`) ?? {});
  }

  /** Checks every example of a response against its schema. @returns the number of examples */
  expectExamplesToHold(): number {
    let count = 0;
    const check = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      const { schema, examples } = value as { schema?: Json; examples?: Json };
      if (schema && examples && !Array.isArray(examples)) {
        const validator = this.#validator(schema);
        for (const [name, example] of Object.entries(examples)) {
          const { error } = validator.safeParse((example as { value: unknown }).value);
          expect(error?.message, `the example ${name}`).to.equal(undefined);
          count += 1;
        }
      }
      for (const [key, part] of Object.entries(value)) {
        // The product validates requests, and fromJSONSchema does not support `not`.
        if (key !== 'requestBody') check(part);
      }
    };
    check(this.#json);
    return count;
  }
}

/** They return one JSON schema, so that clients have one type; their text describes CSV. */
const withCsv = ['/v2/stats', '/v2/stats/{shortCode}'];

let documents: readonly Document[] | null = null;

/** Checks the response to a request of this path and query, if a document of the product has the operation. */
export const expectDocumented = (
  method: string,
  requested: string,
  response: HttpResponse,
): void => {
  documents ??= [openApiDocument(), operatorsDocument()].map(
    (json) => new Document(JSON.stringify(json)),
  );
  for (const document of documents) {
    const path = document.pathOf(requested.replace(/\?.*/, ''));
    if (path === undefined || document.statusesOf(method, path).length === 0) continue;
    document.expectDescribed(method, path, response);
  }
};
