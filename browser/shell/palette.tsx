import { Autocomplete } from "@base-ui/react/autocomplete";
import { Dialog } from "@base-ui/react/dialog";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useDeferredValue, useState } from "react";
import { read } from "../data/reads.ts";
import { pageTexts } from "../messages/en/pages.ts";
import { shellTexts } from "../messages/en/shell.ts";
import { texts } from "../messages/texts.ts";
import { navigationOf } from "./navigation.ts";
import classes from "./palette.module.css";

const text = texts("shell", shellTexts);
const pageName = texts("pages", pageTexts);
const FOUND_MAX = 8;
const REQUEST_ID = /^[0-9a-zA-Z_-]{16,128}$/;

interface Target {
  readonly id: string;
  readonly label: string;
  /** What kind of thing it is. */
  readonly kind: string;
  readonly go: () => void;
}

/** Goes to a page, a tenant or a request by typing. */
export function Palette({ role, onClose }: { readonly role: "admin" | "user"; readonly onClose: () => void }) {
  const [typed, setTyped] = useState("");
  const { targets, isFailed } = useTargets(role, useDeferredValue(typed.trim()), onClose);
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={classes["backdrop"]} />
        <Dialog.Popup className={classes["popup"]} aria-label={text("search")}>
          <Autocomplete.Root
            open
            inline
            mode="none"
            items={targets}
            value={typed}
            onValueChange={setTyped}
            itemToStringValue={(target: Target) => target.label}
            autoHighlight="always"
            keepHighlight
          >
            <Autocomplete.Input
              className={classes["input"]}
              placeholder={text("searchHint")}
              aria-label={text("search")}
            />
            <Autocomplete.Empty className={classes["empty"]}>
              {!isFailed && text("searchEmpty", { text: typed })}
            </Autocomplete.Empty>
            <Autocomplete.List className={classes["list"]}>
              {(target: Target) => (
                <Autocomplete.Item key={target.id} value={target} className={classes["item"]} onClick={target.go}>
                  <span>{target.label}</span>
                  <span className={classes["kind"]}>{target.kind}</span>
                </Autocomplete.Item>
              )}
            </Autocomplete.List>
          </Autocomplete.Root>
          {isFailed && (
            <p className={classes["empty"]} role="status">
              {text("searchFailed")}
            </p>
          )}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** Where one can go with what was typed; `isFailed`: tenants could not be searched, so that there may be more. */
function useTargets(
  role: "admin" | "user",
  typed: string,
  onClose: () => void,
): { readonly targets: readonly Target[]; readonly isFailed: boolean } {
  const navigate = useNavigate();
  const searches = role === "admin" && typed.length > 1;
  const tenants = useQuery(
    read("/api/v1/tenants", { params: { query: { q: typed, limit: String(FOUND_MAX) } } }, { enabled: searches }),
  );
  const going = (to: () => Promise<void>) => () => {
    onClose();
    void to();
  };
  const pages = navigationOf(role)
    .map(
      (entry): Target => ({
        id: entry.to,
        label: pageName(entry.text),
        kind: text("navigation"),
        go: going(async () => await navigate({ to: entry.to })),
      }),
    )
    .filter(({ label }) => label.toLowerCase().includes(typed.toLowerCase()));
  const found = searches
    ? (tenants.data ?? []).map(
        ({ id, name }): Target => ({
          id,
          label: name,
          kind: pageName("tenants"),
          go: going(async () => await navigate({ to: "/tenants/$tenantId", params: { tenantId: id } })),
        }),
      )
    : [];
  const request: readonly Target[] = REQUEST_ID.test(typed)
    ? [
        {
          id: "request",
          label: typed,
          kind: pageName("logs"),
          go: going(async () => await navigate({ to: "/logs", search: { open: typed } })),
        },
      ]
    : [];
  return { targets: [...pages, ...found, ...request], isFailed: searches && tenants.isError };
}
