/** The credential that is sent upstream: it can be set and removed, and is never shown (docs/rules/secrets.md#updates). */
import { type FormEvent, useState } from "react";
import { api, type Records } from "../../data/api.ts";
import type { ApiError } from "../../data/api-error.ts";
import { isSecretGiven } from "../../forms/record/drafts.ts";
import { useAnnouncedWrite } from "../../forms/record/use-announced-write.ts";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { Row, Stack } from "../../ui/layout.tsx";
import { useReadOnly } from "../../ui/read-only.ts";
import { useUnsaved } from "../../ui/unsaved.tsx";
import { MODEL_READS } from "./model-reads.ts";
import { SecretField } from "./secret-field.tsx";
import { updateModel } from "./update-model.ts";

const text = texts("models", modelsTexts);

interface UpstreamKeyProps {
  /** Whose key it is. */
  readonly owner:
    | { readonly kind: "model"; readonly model: Records["Model"] }
    | { readonly kind: "endpoint"; readonly endpoint: Records["ModelEndpoint"] };
}

export function UpstreamKey({ owner }: UpstreamKeyProps) {
  const [typed, setTyped] = useState("");
  useUnsaved(typed !== "");
  const [error, setError] = useState<ApiError | null>(null);
  const isSet = owner.kind === "model" ? owner.model.api_key_set : owner.endpoint.api_key_set;
  const name = owner.kind === "model" ? owner.model.model_name : owner.endpoint.name;
  // An empty key removes the stored one; blanks would be stored in its place.
  const write = useAnnouncedWrite<string>({
    send: async (key) =>
      owner.kind === "model"
        ? await updateModel(owner.model.id, { api_key: key })
        : await api.PUT("/api/v1/models/{id}/endpoints/{endpoint_id}", {
            params: { path: { id: owner.endpoint.model_id, endpoint_id: owner.endpoint.id } },
            body: { api_key: key },
          }),
    touches: MODEL_READS,
    done: (key) => text(key === "" ? "keyRemoved" : "keySaved", { name }),
    failed: () => text("keyFailed", { name }),
    onFailed: setError,
    onDone: () => setTyped(""),
  });
  const run = (key: string): void => {
    setError(null);
    write.run(key);
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isSecretGiven(typed)) run(typed);
  };
  const hint = text(isSet ? "keySet" : owner.kind === "model" ? "keyNotSet" : "keyInherited");
  if (useReadOnly()) return <p>{hint}</p>;
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <SecretField
          label={text(isSet ? "keyNew" : "key")}
          hint={hint}
          error={error === null ? undefined : error.said}
          value={typed}
          onChange={(value) => {
            setTyped(value);
            setError(null);
          }}
        />
        <Row>
          <Button writes type="submit" disabled={!isSecretGiven(typed)} isBusy={write.isBusy}>
            {text("keySave")}
          </Button>
          {isSet && (
            <Button writes tone="quiet" isBusy={write.isBusy} onClick={() => run("")}>
              {text("keyRemove")}
            </Button>
          )}
        </Row>
      </Stack>
    </form>
  );
}
