/** Creating a batch of a file that is uploaded here, or was uploaded before. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { BATCH_ENDPOINTS } from "../../../shared/catalogues/batch-endpoints.ts";
import type { ApiError } from "../../data/api-error.ts";
import { useCurrentUser } from "../../data/current-user.ts";
import { callAsTenant } from "../../data/relay.ts";
import { fieldsOf, textOf } from "../../data/untyped.ts";
import { failureOf, TenantByIdFilter } from "../../forms/filters/found-filters.tsx";
import { useAnnouncedWrite } from "../../forms/record/use-announced-write.ts";
import { batchesTexts } from "../../messages/en/batches.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, SelectField } from "../../ui/fields.tsx";
import { Stack } from "../../ui/layout.tsx";
import { Notice } from "../../ui/states.tsx";
import { useUnsaved } from "../../ui/unsaved.tsx";

const text = texts("batches", batchesTexts);
const UPLOAD = "";

interface UploadedFile {
  readonly id: string;
  readonly name: string;
}

export function CreateBatch({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog isOpen isKept onClose={onClose} title={text("create")}>
      <BatchForm onDone={onClose} />
    </Dialog>
  );
}

function BatchForm({ onDone }: { readonly onDone: () => void }) {
  const { role, tenant_id: own } = useCurrentUser();
  const queries = useQueryClient();
  const [chosen, setChosen] = useState<string>();
  const tenantId = role === "admin" ? chosen : (own ?? undefined);
  const [file, setFile] = useState<File>();
  const [uploaded, setUploaded] = useState(UPLOAD);
  const [endpoint, setEndpoint] = useState<string>(BATCH_ENDPOINTS[0]);
  const [error, setError] = useState<ApiError | null>(null);
  const files = useQuery<readonly UploadedFile[], ApiError>({
    queryKey: ["uploaded-files", tenantId],
    queryFn: async () => await uploadedFiles(tenantId ?? ""),
    enabled: tenantId !== undefined,
    gcTime: 0,
  });
  const write = useAnnouncedWrite<string>({
    send: async (tenant) => {
      const id = uploaded === UPLOAD ? await upload(tenant, file as File) : uploaded;
      // It is there when the batch is refused.
      void queries.invalidateQueries({ queryKey: ["uploaded-files"] });
      setUploaded(id);
      const response = await callAsTenant(tenant, "/batches", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ input_file_id: id, endpoint, completion_window: "24h" }),
      });
      return { response };
    },
    touches: ["/api/v1/batches"],
    done: () => text("createDone"),
    failed: () => text("createFailed"),
    onFailed: setError,
    onDone,
  });
  useUnsaved(file !== undefined && !write.isBusy);
  const isReady = tenantId !== undefined && (uploaded !== UPLOAD || file !== undefined);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setError(null);
    if (isReady) write.run(tenantId);
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        {role === "admin" && (
          <TenantByIdFilter
            tenantId={tenantId}
            onChoose={(id) => {
              setChosen(id);
              setUploaded(UPLOAD);
            }}
          />
        )}
        <SelectField
          label={text("file")}
          hint={text("fileHint")}
          error={failureOf(files.error)}
          choices={[
            { value: UPLOAD, label: text("upload") },
            ...(files.data ?? []).map(({ id, name }) => ({ value: id, label: name })),
          ]}
          value={uploaded}
          onChange={({ target }) => setUploaded(target.value)}
        />
        {uploaded === UPLOAD && (
          <Field label={text("jsonl")}>
            {(control) => (
              <input
                {...control}
                type="file"
                accept=".jsonl,.ndjson,.json,.txt"
                onChange={({ target }) => setFile(target.files?.[0])}
              />
            )}
          </Field>
        )}
        <SelectField
          label={text("endpoint")}
          hint={text("endpointHint")}
          choices={BATCH_ENDPOINTS.map((path) => ({ value: path, label: path }))}
          value={endpoint}
          onChange={({ target }) => setEndpoint(target.value)}
        />
        {error !== null && (
          <Notice tone="bad">
            <strong>{text("createFailed")}</strong> {error.message} <code>{error.code}</code>
          </Notice>
        )}
        <div>
          <Button type="submit" tone="primary" isBusy={write.isBusy} disabled={!isReady}>
            {text(write.isBusy && uploaded === UPLOAD ? "uploading" : "create")}
          </Button>{" "}
          {!isReady && text("needs")}
        </div>
      </Stack>
    </form>
  );
}

async function upload(tenantId: string, file: File): Promise<string> {
  const body = new FormData();
  body.append("purpose", "batch");
  body.append("file", file);
  const response = await callAsTenant(tenantId, "/files", { method: "POST", body });
  return textOf(fieldsOf(await response.json())["id"]) ?? "";
}

/** The newest first; files of results are none of them. */
async function uploadedFiles(tenantId: string): Promise<readonly UploadedFile[]> {
  const { data } = fieldsOf(await (await callAsTenant(tenantId, "/files")).json());
  return (Array.isArray(data) ? data : []).map(fieldsOf).flatMap(({ id, filename, purpose }) => {
    const known = textOf(id);
    return known === null || purpose !== "batch" ? [] : [{ id: known, name: `${textOf(filename) ?? ""} (${known})` }];
  });
}
