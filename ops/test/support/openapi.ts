import { expect } from 'chai';
import { z } from 'zod';
import type { HttpResponse } from './http.js';

type Json = Readonly<Record<string, unknown>>;

interface Header {
  readonly required?: boolean;
}

interface Response {
  readonly headers?: Readonly<Record<string, Header>>;
  readonly content?: Readonly<Record<string, { readonly schema?: Json }>>;
}

/** An OpenAPI document as its reader has it: what holds for an answer is looked up in it. */
export class Document {
  readonly #json: Json;
  readonly #validators = new Map<Json, z.ZodType>();

  constructor(text: string) {
    this.#json = JSON.parse(text) as Json;
  }

  /** What stands at a JSON pointer, or what that refers to. */
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

  /** A schema that stands for itself, with all that it may refer to. */
  #validator(schema: Json): z.ZodType {
    const known = this.#validators.get(schema) ?? this.#makeValidator(schema);
    this.#validators.set(schema, known);
    return known;
  }

  #makeValidator(schema: Json): z.ZodType {
    const whole = { ...schema, $defs: this.#at('/components/schemas') };
    const text = JSON.stringify(whole).replaceAll('#/components/schemas/', '#/$defs/');
    return z.fromJSONSchema(JSON.parse(text) as Parameters<typeof z.fromJSONSchema>[0]);
  }

  /** The path of the document that a request's path is an instance of, such as `/v2/qr/{shortCode}`. */
  pathOf(requested: string): string | undefined {
    const paths = Object.keys(this.#json['paths'] as Json);
    return paths.find((path) =>
      new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`).test(requested),
    );
  }

  /** Fails unless the document says that this operation may answer so: status, headers and body. */
  expectDescribed(
    method: string,
    path: string,
    answer: Pick<HttpResponse, 'status' | 'headers' | 'text' | 'json'>,
  ): void {
    const what = `${method} ${path}: ${answer.status}`;
    const operation = `/paths/${path.replaceAll('/', '~1')}/${method.toLowerCase()}`;
    const response = this.#at(`${operation}/responses/${answer.status}`) as Response | null;
    if (!response) throw new Error(`${what} is not in the document: ${answer.text}`);
    for (const [name, header] of Object.entries(response.headers ?? {})) {
      if ((this.#resolved(header as Json) as Header).required !== true) continue;
      expect(answer.headers, what).to.have.property(name.toLowerCase());
    }
    const type = answer.headers['content-type']?.split(';')[0];
    if (!response.content) {
      expect(answer.text, what).to.equal('');
      return;
    }
    const content = response.content[type ?? ''];
    if (!content) throw new Error(`${what} is no ${type ?? 'nothing'} in the document`);
    if (!content.schema || type !== 'application/json') return;
    const { error } = this.#validator(content.schema).safeParse(answer.json());
    expect(error?.message, `${what}: ${answer.text}`).to.equal(undefined);
  }

  /** The statuses that an operation may answer. */
  statusesOf(method: string, path: string): string[] {
    const operation = `/paths/${path.replaceAll('/', '~1')}/${method.toLowerCase()}`;
    return Object.keys(this.#at(`${operation}/responses`) ?? {});
  }

  /** Every example of an answer, with the schema that it stands beside. */
  expectExamplesToHold(): number {
    let count = 0;
    const look = (value: unknown): void => {
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
        // What is asked is for the product to judge, and fromJSONSchema knows no `not`.
        if (key !== 'requestBody') look(part);
      }
    };
    look(this.#json);
    return count;
  }
}
