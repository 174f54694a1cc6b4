import { useState } from "react";
import type { Records } from "../../data/api.ts";
import { callAsTenant } from "../../data/relay.ts";
import { complain } from "../../forms/record/use-announced-write.ts";
import { batchesTexts } from "../../messages/en/batches.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { storeFile } from "../../ui/store-file.ts";
import classes from "./batches.module.css";

const text = texts("batches", batchesTexts);

/** Why its input was refused, or its first line failed. */
export function causeOf({ errors: [fault] }: Records["Batch"]): string | undefined {
  return fault === undefined || fault.line === null
    ? fault?.message
    : text("atLine", { line: fault.line, message: fault.message });
}

/** What a batch came to: its files, and `why` there is an error. */
export function BatchResults({ batch, why }: { readonly batch: Records["Batch"]; readonly why?: string | undefined }) {
  if (why === undefined && batch.output_file_id === null && batch.error_file_id === null) return null;
  return (
    <div className={classes["results"]}>
      {why !== undefined && (
        <span className={classes["fault"]} title={why}>
          {why}
        </span>
      )}
      <ResultFile batch={batch} fileId={batch.output_file_id} kind="output" />
      <ResultFile batch={batch} fileId={batch.error_file_id} kind="errors" />
    </div>
  );
}

interface ResultFileProps {
  readonly batch: Records["Batch"];
  readonly fileId: string | null;
  readonly kind: "output" | "errors";
}

/** Contents are for those who may call as the tenant (docs/rules/console.md#relay). */
function ResultFile({ batch: { batch_id, tenant_id }, fileId, kind }: ResultFileProps) {
  const [isBusy, setBusy] = useState(false);
  const store = async (): Promise<void> => {
    setBusy(true);
    try {
      const response = await callAsTenant(tenant_id, `/files/${fileId}/content`);
      storeFile(`${batch_id}-${kind}.jsonl`, await response.blob());
    } catch (error) {
      complain(text("downloadFailed"), error);
    } finally {
      setBusy(false);
    }
  };
  if (fileId === null) return null;
  return (
    <Button writes isBusy={isBusy} onClick={() => void store()}>
      {text(kind)}
    </Button>
  );
}
