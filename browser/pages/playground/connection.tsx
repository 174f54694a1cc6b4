import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { type FormEvent, useEffect, useState } from "react";
import type { ApiError } from "../../data/api-error.ts";
import { useCurrentUser } from "../../data/current-user.ts";
import { read, retries } from "../../data/reads.ts";
import { responds } from "../../explain/first-model.ts";
import { TenantByIdFilter } from "../../forms/filters/found-filters.tsx";
import { commonText } from "../../messages/common.ts";
import { playgroundTexts } from "../../messages/en/playground.ts";
import { texts } from "../../messages/texts.ts";
import { IconButton } from "../../ui/button.tsx";
import { TextField } from "../../ui/fields.tsx";
import { Panel } from "../../ui/layout.tsx";
import { SearchSelect } from "../../ui/search-select.tsx";
import { ReadFailure } from "../../ui/states.tsx";
import classes from "./playground-page.module.css";
import { type CallAs, listedModels } from "./send-chat.ts";

const text = texts("playground", playgroundTexts);
/** What a header may have, without spaces. */
const KEY_PATTERN = /^[\x21-\x7e]{1,8000}$/;
const CHOICES_MAX = 100;
const MODELS_MAX = "200";

interface ConnectionProps {
  /** Null: nobody has said yet. */
  readonly as: CallAs | null;
  readonly tenantId: string | undefined;
  readonly onTenant: (tenantId: string | undefined) => void;
  readonly apiKey: string;
  readonly onKey: (key: string) => void;
  readonly model: string | undefined;
  readonly beside: string | undefined;
  readonly onModel: (model: string | undefined) => void;
  readonly onBeside: (model: string | undefined) => void;
}

/** As whom or with which key, and which models. */
export function Connection({
  as,
  tenantId,
  onTenant,
  apiKey,
  onKey,
  model,
  beside,
  onModel,
  onBeside,
}: ConnectionProps) {
  const { role } = useCurrentUser();
  // The key itself is in no cache: another key is another number.
  const [keyNumber, setKeyNumber] = useState(0);
  const [typed, setTyped] = useState(apiKey);
  const key = typed.trim();
  const isWrong = key !== "" && !KEY_PATTERN.test(key);
  const commit = (given: string): void => {
    const next = given.trim();
    if (next === apiKey || (next !== "" && !KEY_PATTERN.test(next))) return;
    setKeyNumber(keyNumber + 1);
    onKey(next);
  };
  const models = useQuery<readonly string[], ApiError>({
    queryKey: ["playground-models", keyNumber, tenantId ?? ""],
    queryFn: async ({ signal }) => (as === null ? [] : await listedModels(as, signal)),
    enabled: as !== null,
    retry: retries,
    gcTime: 0,
  });
  const names = as === null ? null : (models.data ?? (models.error === null ? null : []));
  const states = useQuery(read("/api/v1/models", { params: { query: { limit: MODELS_MAX } } }));
  const [listed] = models.data ?? [];
  const responding = states.data?.find((one) => responds(one) && models.data?.includes(one.model_name));
  const first = states.isPending ? undefined : (responding?.model_name ?? listed);
  useEffect(() => {
    if (model === undefined && first !== undefined && listed !== "auto") onModel(first);
  }, [model, first, listed, onModel]);
  return (
    <Panel>
      <form
        className={classes["connection"]}
        onSubmit={(event: FormEvent) => {
          event.preventDefault();
          commit(typed);
        }}
      >
        {role === "admin" && <TenantByIdFilter tenantId={tenantId} onChoose={onTenant} />}
        <ModelSelect
          label={text("model")}
          placeholder={text("chooseModel")}
          names={names}
          chosen={model}
          onChoose={onModel}
        />
        <ModelSelect
          label={text("beside")}
          placeholder={text("besideNone")}
          names={names}
          chosen={beside}
          onChoose={onBeside}
        />
        <div className={classes["key"]}>
          <TextField
            label={text("key")}
            hint={text("keyHint")}
            error={isWrong ? text("keyWrong") : undefined}
            type="password"
            autoComplete="off"
            spellCheck={false}
            value={typed}
            onChange={(event) => {
              setTyped(event.target.value);
              if ((event.nativeEvent as InputEvent).inputType === "insertFromPaste") commit(event.target.value);
            }}
            onBlur={() => commit(typed)}
          />
          {apiKey !== "" && (
            <IconButton
              label={text("forget")}
              onClick={() => {
                setTyped("");
                commit("");
              }}
            >
              <X size={16} aria-hidden />
            </IconButton>
          )}
        </div>
      </form>
      {as !== null && <ReadFailure state={models} failed={text("modelsFailed")} />}
    </Panel>
  );
}

function ModelSelect({
  label,
  placeholder,
  names,
  chosen,
  onChoose,
}: {
  readonly label: string;
  readonly placeholder: string;
  /** Null: they are not known yet. */
  readonly names: readonly string[] | null;
  readonly chosen: string | undefined;
  readonly onChoose: (model: string | undefined) => void;
}) {
  const [typed, setTyped] = useState("");
  const part = typed.trim().toLowerCase();
  const found = names?.filter((name) => name.toLowerCase().includes(part)).slice(0, CHOICES_MAX) ?? null;
  return (
    <SearchSelect
      label={label}
      placeholder={placeholder}
      chosen={chosen}
      found={
        found?.map((name) => ({ value: name, label: name, ...(name === "auto" ? { note: text("auto") } : {}) })) ?? null
      }
      onType={(part) => setTyped(part ?? "")}
      onChoose={onChoose}
      texts={{ clear: commonText("clear"), nothing: text("nothingFound"), searching: text("searching") }}
    />
  );
}
