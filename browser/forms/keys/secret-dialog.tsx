/**
 * The secret of a key, shown once (docs/rules/console.md#secrets): it is in this window's state alone, neither in a cache nor in
 * an address, and gone when the window closes or the page is left.
 */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { isModelPermitted } from "../../../shared/access/access-window.ts";
import type { Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { sessionQuery } from "../../data/session.ts";
import { firstModel } from "../../explain/first-model.ts";
import { commonText } from "../../messages/common.ts";
import { keysTexts } from "../../messages/en/keys.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { Code } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Notice } from "../../ui/states.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { UnsavedTexts, useUnsaved } from "../../ui/unsaved.tsx";
import { curlExample, pythonExample, typescriptExample } from "./call-examples.ts";
import { FirstRequest } from "./first-request.tsx";
import classes from "./secret-dialog.module.css";

const text = texts("keys", keysTexts);
/** Where the gateway, or a model that may be used, is not known. */
const SOME_GATEWAY = "https://gateway.example";
const SOME_MODEL = "model-name";
const MODELS_MAX = "200";
const EXAMPLES = [
  { id: "curl", example: curlExample },
  { id: "python", example: pythonExample },
  { id: "typescript", example: typescriptExample },
] as const;

const QUESTION = {
  title: text("uncopiedTitle"),
  text: text("uncopiedText"),
  discard: commonText("close"),
  keep: commonText("cancel"),
};

interface SecretDialogProps {
  readonly created: Records["CreatedApiKey"];
  /** The tenant's list of models; null: all. */
  readonly tenantModels: readonly string[] | null;
  /** When the secret was made, epoch ms. */
  readonly sinceMs: number;
  readonly onClose: () => void;
}

export function SecretDialog({ created, tenantModels, sinceMs, onClose }: SecretDialogProps) {
  const { key, secret } = created;
  const [shown, setShown] = useState<(typeof EXAMPLES)[number]["id"]>("curl");
  const [isCopied, setCopied] = useState(false);
  const onCopied = (): void => setCopied(true);
  const session = useQuery(sessionQuery);
  const models = useQuery(read("/api/v1/models", { params: { query: { limit: MODELS_MAX } } }));
  const lists = [tenantModels, key.allowed_models].map((names) => ({
    allowed_models: names === null ? null : [...names],
  }));
  const usable = models.data?.filter(
    ({ model_name, enabled, model_type }) =>
      enabled !== false && model_type === "chat" && lists.every((list) => isModelPermitted(list, model_name)),
  );
  const model = firstModel(usable ?? []);
  const call = {
    baseUrl: session.data?.proxy_base_url ?? SOME_GATEWAY,
    secret,
    model: model?.model_name ?? SOME_MODEL,
  };
  useEffect(() => {
    // A browser may keep the whole page in memory when it is left, and show it again.
    addEventListener("pagehide", onClose);
    addEventListener("popstate", onClose);
    return () => {
      removeEventListener("pagehide", onClose);
      removeEventListener("popstate", onClose);
    };
  }, [onClose]);
  return (
    <UnsavedTexts value={QUESTION}>
      <Dialog
        isOpen
        isKept
        onClose={onClose}
        title={text("secretTitle", { name: key.name === "" ? key.key_prefix : key.name })}
        footer={
          <Button tone="primary" onClick={onClose}>
            {text("done")}
          </Button>
        }
      >
        <Uncopied isUncopied={!isCopied} />
        <Notice tone="warn">{text("secretOnce")}</Notice>
        <Code text={secret} label={text("copySecret")} doneLabel={commonText("copied")} onCopied={onCopied} />
        <div className={classes["stack"]}>
          <h3>{text("firstCall")}</h3>
          {/* Not before it is known which model it names: it may be copied as soon as it is seen. */}
          {!models.isPending && (
            <Tabs
              label={text("examples")}
              chosen={shown}
              onChoose={(id) => setShown(EXAMPLES.find((one) => one.id === id)?.id ?? "curl")}
              tabs={EXAMPLES.map(({ id, example }) => ({
                id,
                label: text(id),
                content: (
                  <Code
                    text={example(call)}
                    label={text("copyExample")}
                    doneLabel={commonText("copied")}
                    onCopied={onCopied}
                  />
                ),
              }))}
            />
          )}
          <FirstRequest keyId={key.id} tenantId={key.tenant_id} sinceMs={sinceMs} />
        </div>
      </Dialog>
    </UnsavedTexts>
  );
}

/** Within the dialog, which asks before it closes. */
function Uncopied({ isUncopied }: { readonly isUncopied: boolean }) {
  useUnsaved(isUncopied);
  return null;
}
