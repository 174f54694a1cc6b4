import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, type Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { useList } from "../../data/use-list.ts";
import { useAnnouncedWrite } from "../../forms/record/use-announced-write.ts";
import { commonText } from "../../messages/common.ts";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/fields.tsx";
import { Notice, ReadFailure } from "../../ui/states.tsx";
import { MODEL_READS } from "./model-reads.ts";
import { referencesTo } from "./model-references.ts";
import type { ModelTabProps } from "./model-tab.ts";

const text = texts("models", modelsTexts);
const NAMES_MAX = 5;

/** Deletes a model once its name was typed, and says before what names it. */
export function DeleteModel({
  model: { id, model_name: name },
  onClose,
}: ModelTabProps & { readonly onClose: () => void }) {
  const [typed, setTyped] = useState("");
  const navigate = useNavigate();
  const write = useAnnouncedWrite<null>({
    send: async () => await api.DELETE("/api/v1/models/{id}", { params: { path: { id } } }),
    touches: MODEL_READS,
    ends: "/api/v1/models/{id}",
    done: () => commonText("deleted", { name }),
    failed: () => commonText("notDeleted", { name }),
    onDone: () => void navigate({ to: "/models" }),
  });
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={<bdi>{text("deleteTitle", { name })}</bdi>}
      footer={
        <>
          <Button onClick={onClose}>{commonText("cancel")}</Button>
          <Button tone="danger" disabled={typed.trim() !== name} isBusy={write.isBusy} onClick={() => write.run(null)}>
            {commonText("delete")}
          </Button>
        </>
      }
    >
      <p>{text("deleteText")}</p>
      <NamedBy name={name} />
      <TextField
        label={text("deleteName")}
        hint={text("deleteType", { name })}
        dir="auto"
        autoComplete="off"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
    </Dialog>
  );
}

/** What would stop working: lists of allowed models, guard models and settings that name it. */
function NamedBy({ name }: { readonly name: string }) {
  const tenants = useList<Records["Tenant"]>("/api/v1/tenants", {}, { readsAll: true });
  const keys = useList<Records["ListedApiKey"]>("/api/v1/keys", {}, { readsAll: true });
  const boons = useQuery(read("/api/v1/settings/boons"));
  const router = useQuery(read("/api/v1/settings/auto-router"));
  const assistant = useQuery(read("/api/v1/settings/assistant"));
  const failed = [tenants, keys, boons, router, assistant].find(({ error }) => error !== null);
  if (failed !== undefined)
    return <ReadFailure state={{ ...failed, data: undefined }} failed={text("namedByFailed")} />;
  if (
    tenants.data === undefined ||
    keys.data === undefined ||
    boons.data === undefined ||
    router.data === undefined ||
    assistant.data === undefined
  )
    return null;
  const { only, allowed, guard, settings } = referencesTo(name, tenants.data, keys.data, {
    ...boons.data,
    ...router.data,
    ...assistant.data,
  });
  const lines = [
    ...(only.length === 0 ? [] : [text("named_only", { count: only.length, names: someOf(only) })]),
    ...(allowed.length === 0 ? [] : [text("named_allowed", { count: allowed.length, names: someOf(allowed) })]),
    ...(guard.length === 0 ? [] : [text("named_guard", { count: guard.length, names: someOf(guard) })]),
    ...settings.map((field) => text("named_setting", { what: text(`setting_${field}`) })),
  ];
  if (lines.length === 0 && tenants.isWhole && keys.isWhole) return <Notice>{text("namedByNobody")}</Notice>;
  return (
    <Notice tone="warn">
      <strong>{text("namedBy")}</strong>
      <ul>
        {lines.map((line) => (
          <li key={line}>
            <bdi>{line}</bdi>
          </li>
        ))}
        {!(tenants.isWhole && keys.isWhole) && <li>{text("namedByPart")}</li>}
      </ul>
    </Notice>
  );
}

/** The first names, and how many more there are. */
function someOf(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_MAX).join(", ");
  return names.length > NAMES_MAX ? `${shown} ${text("namedByMore", { count: names.length - NAMES_MAX })}` : shown;
}
