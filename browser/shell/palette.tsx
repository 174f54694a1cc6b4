import { useQuery } from "@tanstack/react-query";
import { type NavigateOptions, useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, useDeferredValue, useId, useState } from "react";
import { read } from "../data/reads.ts";
import type { SessionUser } from "../data/session.ts";
import { pageTexts } from "../messages/en/pages.ts";
import { paletteTexts } from "../messages/en/palette.ts";
import { shellTexts } from "../messages/en/shell.ts";
import { texts } from "../messages/texts.ts";
import { Modal } from "../ui/modal.tsx";
import { activeOption, type Option, OptionList, useOptionPosition } from "../ui/option-list.tsx";
import { actionsOf } from "./actions.ts";
import { navigationOf } from "./navigation.ts";
import classes from "./palette.module.css";

const text = texts("shell", shellTexts);
const actionText = texts("palette", paletteTexts);
const pageName = texts("pages", pageTexts);
const FOUND_MAX = 8;
const REQUEST_ID = /^[0-9a-zA-Z_-]{16,128}$/;

type ModelTab = NonNullable<ReturnType<typeof actionsOf>[number]["modelTab"]>;

interface Target extends Option {
  readonly go: () => void;
}

/** Goes to a page, a tenant, a model, a key or a request by typing. */
export function Palette({ user, onClose }: { readonly user: SessionUser; readonly onClose: () => void }) {
  const [typed, setTyped] = useState("");
  const type = (value: string): void => {
    setTyped(value);
    setAt(0);
  };
  const [modelTab, setModelTab] = useState<ModelTab>();
  const { targets, isFailed } = useTargets(user, useDeferredValue(typed.trim()), modelTab, {
    close: onClose,
    askForModel: (tab) => {
      setModelTab(tab);
      type("");
    },
  });
  const { at, setAt, move } = useOptionPosition(targets.length);
  const listId = useId();
  const onKey = (event: KeyboardEvent): void => {
    if (move(event) || event.key !== "Enter") return;
    event.preventDefault();
    targets[at]?.go();
  };
  return (
    <Modal
      label={text("search")}
      className={classes["popup"]}
      backdropClassName={classes["backdrop"]}
      onDismiss={onClose}
    >
      <input
        type="text"
        role="combobox"
        autoComplete="off"
        aria-expanded
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={activeOption(listId, targets, at)}
        aria-label={text("search")}
        placeholder={modelTab === undefined ? text("searchHint") : actionText("whichModel")}
        className={classes["input"]}
        value={typed}
        onChange={(event) => type(event.target.value)}
        onKeyDown={onKey}
      />
      <OptionList
        id={listId}
        label={text("search")}
        options={targets}
        at={at}
        onPoint={setAt}
        onChoose={(value) => targets.find((target) => target.value === value)?.go()}
        className={classes["list"]}
      >
        {targets.length > 0 || isFailed ? undefined : text("searchEmpty", { text: typed })}
      </OptionList>
      {isFailed && (
        <p className={classes["empty"]} role="status">
          {text("searchFailed")}
        </p>
      )}
    </Modal>
  );
}

/** Where one can go with what was typed; `isFailed`: not everything could be searched, so that there may be more. */
function useTargets(
  user: SessionUser,
  typed: string,
  modelTab: ModelTab | undefined,
  { close, askForModel }: { readonly close: () => void; readonly askForModel: (tab: ModelTab) => void },
): { readonly targets: readonly Target[]; readonly isFailed: boolean } {
  const navigate = useNavigate();
  const isOfModel = modelTab !== undefined;
  const isAdmin = user.role === "admin";
  const searches = typed.length > 1 && !isOfModel;
  const found = { params: { query: { q: typed, limit: String(FOUND_MAX) } } };
  const tenants = useQuery(read("/api/v1/tenants", found, { enabled: searches && isAdmin }));
  const models = useQuery(read("/api/v1/models", found, { enabled: searches || isOfModel }));
  const keys = useQuery(read("/api/v1/keys", found, { enabled: searches }));
  const going = (address: NavigateOptions) => () => {
    close();
    void navigate(address);
  };
  const pages = navigationOf(user)
    .flat()
    .map(
      (entry): Target => ({
        value: entry.to,
        label: pageName(entry.text),
        go: going({ to: entry.to }),
      }),
    )
    .filter(({ label }) => label.toLowerCase().includes(typed.toLowerCase()));
  const actions = actionsOf(user, typed, actionText).map(
    ({ id, label, to, search, modelTab: tab }): Target => ({
      value: id,
      label,
      note: actionText("note"),
      go: tab !== undefined ? () => askForModel(tab) : going({ to, search } as NavigateOptions),
    }),
  );
  const foundTenants =
    searches && isAdmin
      ? (tenants.data ?? []).flatMap(({ id, name }): readonly Target[] => [
          {
            value: id,
            label: name,
            note: pageName("tenants"),
            go: going({ to: "/tenants/$tenantId", params: { tenantId: id } }),
          },
          {
            value: `logs ${id}`,
            label: name,
            note: pageName("logs"),
            go: going({ to: "/logs", search: { tenant_id: id } }),
          },
        ])
      : [];
  const foundModels =
    searches || isOfModel
      ? (models.data ?? []).map(
          ({ id, model_name }): Target => ({
            value: id,
            label: model_name,
            note: pageName("models"),
            go: going(
              isAdmin
                ? { to: "/models/$modelId", params: { modelId: id }, search: isOfModel ? { tab: modelTab } : {} }
                : { to: "/portal/models", search: { open: id } },
            ),
          }),
        )
      : [];
  const foundKeys = searches
    ? (keys.data ?? []).map(
        ({ id, name, key_prefix }): Target => ({
          value: id,
          label: name || key_prefix,
          note: pageName("keys"),
          go: going({ to: "/keys", search: { key_id: id } }),
        }),
      )
    : [];
  const request: readonly Target[] = REQUEST_ID.test(typed)
    ? [
        {
          value: "request",
          label: typed,
          note: pageName("logs"),
          go: going({ to: "/logs", search: { open: typed } }),
        },
      ]
    : [];
  if (isOfModel) return { targets: foundModels, isFailed: models.isError };
  return {
    targets: [...pages, ...actions, ...foundTenants, ...foundModels, ...foundKeys, ...request],
    isFailed: searches && [tenants, models, keys].some(({ isError }) => isError),
  };
}
