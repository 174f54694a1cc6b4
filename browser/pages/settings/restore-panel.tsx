/** A backup file is looked at first: what it would change is shown, and it is restored only after that was confirmed. */
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { answerValue, api, type Records } from "../../data/api.ts";
import { ApiError } from "../../data/api-error.ts";
import { commonText } from "../../messages/common.ts";
import { settingsTexts } from "../../messages/en/settings.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, TextField } from "../../ui/fields.tsx";
import { Panel, Row } from "../../ui/layout.tsx";
import { Notice } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.ts";
import { type BackupFile, readBackupText, restoredCounts } from "./backup-file.ts";
import { RestorePreview, Warnings } from "./restore-preview.tsx";

const text = texts("settings", settingsTexts);
const FILE_MAX_BYTES = 64 * 1024 * 1024;

/** How far a chosen file has come. */
type Step =
  | { readonly kind: "none" | "reading" }
  | { readonly kind: "unreadable"; readonly message: string }
  | { readonly kind: "refused"; readonly error: ApiError }
  | { readonly kind: "restored"; readonly report: Records["RestoreReport"] }
  | { readonly kind: "previewed"; readonly file: BackupFile; readonly report: Records["RestoreReport"] };

async function restore(file: BackupFile, isDryRun: boolean): Promise<Records["RestoreReport"]> {
  const params = { query: isDryRun ? { dry_run: "true" as const } : {} };
  return answerValue(await api.POST("/api/v1/backup/restore", { params, body: file as Records["Backup"] }));
}

async function look(chosen: File): Promise<Step> {
  if (chosen.size > FILE_MAX_BYTES) return { kind: "unreadable", message: text("tooLarge") };
  const file = readBackupText(await chosen.text());
  if (file === null) return { kind: "unreadable", message: text("notJson") };
  try {
    return { kind: "previewed", file, report: await restore(file, true) };
  } catch (error) {
    if (error instanceof ApiError) return { kind: "refused", error };
    throw error;
  }
}

export function RestorePanel() {
  const [step, setStep] = useState<Step>({ kind: "none" });
  const [isAsked, setAsked] = useState(false);
  const newest = useRef(0);
  const choose = async (chosen: File | undefined): Promise<void> => {
    const turn = ++newest.current;
    if (chosen === undefined) return setStep({ kind: "none" });
    setStep({ kind: "reading" });
    const next = await look(chosen).catch((): Step => ({ kind: "unreadable", message: text("notJson") }));
    if (turn === newest.current) setStep(next);
  };
  return (
    <Panel title={text("restore")} note={text("restoreText")}>
      <Field label={text("restoreFile")} error={step.kind === "unreadable" ? step.message : undefined}>
        {(control) => (
          <input
            {...control}
            type="file"
            accept=".json,application/json"
            onChange={(event) => void choose(event.target.files?.[0])}
          />
        )}
      </Field>
      {step.kind === "reading" && <Notice>{text("reading_file")}</Notice>}
      {step.kind === "refused" && <Refused error={step.error} />}
      {step.kind === "restored" && (
        <>
          <Notice tone="good">{text("restored", { ...restoredCounts(step.report) })}</Notice>
          <Warnings warnings={step.report.warnings} />
        </>
      )}
      {step.kind === "previewed" && (
        <>
          <RestorePreview report={step.report} />
          <Row>
            <Button writes tone="primary" onClick={() => setAsked(true)}>
              {text("restore")}
            </Button>
          </Row>
          {isAsked && (
            <ConfirmRestore
              file={step.file}
              onClose={() => setAsked(false)}
              onDone={(report) => {
                setAsked(false);
                setStep({ kind: "restored", report });
              }}
            />
          )}
        </>
      )}
    </Panel>
  );
}

function Refused({ error }: { readonly error: ApiError }) {
  return (
    <Notice tone="bad">
      <strong>{text("refused")}</strong> {error.param} {error.message} <code>{error.code}</code>
    </Notice>
  );
}

interface ConfirmRestoreProps {
  readonly file: BackupFile;
  readonly onClose: () => void;
  readonly onDone: (report: Records["RestoreReport"]) => void;
}

/** Restores once the word was typed. */
function ConfirmRestore({ file, onClose, onDone }: ConfirmRestoreProps) {
  const [typed, setTyped] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const queries = useQueryClient();
  const run = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const report = await restore(file, false);
      toast({
        title: text("restored", { ...restoredCounts(report) }),
        tone: report.warnings.length > 0 ? "warn" : "good",
      });
      void queries.invalidateQueries();
      onDone(report);
    } catch (failure) {
      if (!(failure instanceof ApiError)) throw failure;
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={text("restore")}
      footer={
        <>
          <Button onClick={onClose}>{commonText("cancel")}</Button>
          <Button tone="danger" disabled={typed.trim() !== text("word")} isBusy={isBusy} onClick={() => void run()}>
            {text("restore")}
          </Button>
        </>
      }
    >
      <TextField
        label={text("confirm")}
        hint={text("restoreType")}
        autoComplete="off"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
      {error !== null && (
        <Notice tone="bad">
          {text("restoreFailed")} {error.message} <code>{error.code}</code>
        </Notice>
      )}
    </Dialog>
  );
}
