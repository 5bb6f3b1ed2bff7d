import { useLocation } from 'preact-iso/router';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ImportResponse } from '../../../../schemas/http/imports.js';
import { texts } from '../../all-texts.js';
import { callApi } from '../app/api.js';
import { type ActionState, fieldsOf, onSubmit, useAction } from '../app/hooks.js';
import { Check, Field, Select, ZoneField } from '../components/field.js';
import { DomainSelect } from '../components/own-domains.js';
import { richText } from '../components/rich-text.js';
import { Trouble } from '../components/trouble.js';
import { conflictOptions, encodingOptions, formatOptions } from './labels.js';
import { Report, useImport } from './report.js';

const text = texts.imports;

/** The parameters of `POST /v2/imports`. */
type Options = Readonly<Record<string, string>>;

interface Checked {
  readonly id: string;
  readonly file: File;
  readonly options: Options;
}

interface Upload extends ActionState {
  /** The file that is being sent; `null`: none. */
  readonly file: File | null;
  readonly send: (
    file: File,
    options: Options,
  ) => Promise<{ readonly value: ImportResponse } | null>;
  readonly cancel: () => void;
}

const useUpload = (): Upload => {
  const action = useAction();
  const [file, setFile] = useState<File | null>(null);
  const connection = useRef<AbortController | null>(null);
  const cancel = (): void => connection.current?.abort();
  // The page was left.
  useEffect(() => cancel, []);
  const send: Upload['send'] = async (sent, options) => {
    if (connection.current) return null;
    const { signal } = (connection.current = new AbortController());
    setFile(sent);
    const path = `/v2/imports?${new URLSearchParams(options).toString()}`;
    const call = { method: 'POST', file: sent, signal } as const;
    const done = await action.run(() => callApi<ImportResponse>(path, call));
    connection.current = null;
    setFile(null);
    return done;
  };
  return { ...action, file, send, cancel };
};

const megabytes = (bytes: number): string =>
  bytes < 100_000 ? text.bytes(bytes) : text.megabytes(Math.round(bytes / 1e5) / 10);

const Uploading = ({ upload: { file, failure, cancel } }: { readonly upload: Upload }) => (
  <>
    {file && (
      <div class="stack">
        <label class="field">
          <span>
            {richText(text.sending(megabytes(file.size)), { file: <bdi>{file.name}</bdi> })}
          </span>
          <progress />
        </label>
        <button type="button" onClick={cancel}>
          {text.stopSending}
        </button>
      </div>
    )}
    <Trouble failure={failure} />
  </>
);

const StartImport = (props: {
  readonly checked: Checked;
  readonly result: ImportResponse;
  readonly upload: Upload;
}) => {
  const { checked, result, upload } = props;
  const { route } = useLocation();
  const [hasVisits, setVisits] = useState(false);
  const [visitZone, setVisitZone] = useState('UTC');
  const { created } = result;
  const start = async (): Promise<void> => {
    const visits = { visits: '1', visitZone };
    const options = { ...checked.options, ...(hasVisits && visits) };
    const done = await upload.send(checked.file, options);
    if (done) route(`/console/imports/${done.value.id}?rows=${result.rows}`);
  };
  if (created === 0) return <p>{text.nothing}</p>;
  return (
    <>
      {result.format === 'yourls-sql' && (
        <>
          <Check checked={hasVisits} onChecked={setVisits} label={text.withVisits} />
          {hasVisits && (
            <ZoneField label={text.zoneOfVisits} value={visitZone} onChange={setVisitZone} />
          )}
        </>
      )}
      <button
        type="button"
        class="primary"
        aria-disabled={upload.isBusy}
        onClick={() => void start()}
      >
        {text.importLinks(created)}
      </button>
      <Uploading upload={upload} />
    </>
  );
};

const FileCheck = (props: { readonly checked: Checked; readonly onEnded: () => void }) => {
  const { checked, onEnded } = props;
  const { value, failure, reload } = useImport(checked.id);
  const upload = useUpload();
  const isEnded = value !== undefined && value.status !== 'running';
  useEffect(() => {
    if (isEnded) onEnded();
  }, [isEnded]);
  return (
    <section class="card stack" aria-label={text.theCheck}>
      <h2>
        <bdi>{checked.file.name}</bdi>
      </h2>
      <Trouble failure={failure} onRetry={reload} />
      {value && <Report value={value} total={null} onStopped={reload} />}
      {value?.status === 'done' && <StartImport checked={checked} result={value} upload={upload} />}
    </section>
  );
};

const optionsOf = (fields: ReturnType<typeof fieldsOf>, linkZone: string): Options => ({
  ...Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  ),
  linkZone,
});

/** Checks a file, and then imports it. */
export const NewImport = ({ onChecked }: { readonly onChecked: () => void }) => {
  const input = useRef<HTMLInputElement>(null);
  const [checked, setChecked] = useState<Checked>();
  const [linkZone, setLinkZone] = useState('UTC');
  const upload = useUpload();

  const submit = onSubmit(async (form) => {
    const file = input.current?.files?.[0];
    if (!file) return;
    const options = optionsOf(fieldsOf(form), linkZone);
    const done = await upload.send(file, { ...options, dryRun: '1' });
    if (done) setChecked({ id: done.value.id, file, options });
  });
  /** Another file, or other options: the result of the check may be another one. */
  const forget = (): void => setChecked(undefined);
  const drop = (event: DragEvent): void => {
    const files = event.dataTransfer?.files;
    if (!files || files.length === 0 || !input.current) return;
    event.preventDefault();
    input.current.files = files;
    forget();
  };
  return (
    <>
      <form
        class="card stack"
        aria-label={text.newImport}
        onSubmit={submit}
        onChange={forget}
        onDrop={drop}
        onDragOver={(event) => event.preventDefault()}
      >
        <Field label={text.file} hint={text.fileHint}>
          {(control) => <input {...control} class="drop" ref={input} type="file" required />}
        </Field>
        <div class="columns">
          <Select label={text.format} name="format" value="auto" options={formatOptions} />
          <DomainSelect name="domain" none={text.asInFile} />
          <Select
            label={text.onConflict}
            name="onConflict"
            value="skip"
            options={conflictOptions}
          />
          <Select label={text.encoding} name="encoding" value="" options={encodingOptions} />
          <ZoneField label={text.zoneOfTimes} value={linkZone} onChange={setLinkZone} />
        </div>
        <button class="primary" aria-disabled={upload.isBusy}>
          {text.checkFile}
        </button>
        <p class="hint">{text.checkHint}</p>
        <Uploading upload={upload} />
      </form>
      {checked && <FileCheck key={checked.id} checked={checked} onEnded={onChecked} />}
    </>
  );
};
