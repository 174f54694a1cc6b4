import { Link, useRouter } from "@tanstack/react-router";
import { Link as LinkIcon, Trash2 } from "lucide-react";
import { type FormEvent, useState } from "react";
import { useCurrentUser } from "../../data/current-user.ts";
import { savedViewsTexts } from "../../messages/en/log-saved-views.ts";
import { texts } from "../../messages/texts.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { TextField } from "../../ui/fields.tsx";
import { toast } from "../../ui/toast.ts";
import classes from "./log-filters.module.css";
import type { LogsSearch } from "./logs-search.ts";
import { deleteView, readViews, type SavedView, saveView, VIEW_NAME_MAX, VIEWS_MAX, viewOf } from "./view-storage.ts";

const text = texts("log-saved-views", savedViewsTexts);

/** Questions that most people have. */
const BUILT_IN = [
  ["viewFailed", { status: "failed" }],
  ["viewRefused", { status: "refused" }],
  ["viewWaited", { min_queue_wait_ms: 1000 }],
  ["viewSlow", { min_total_ms: 10_000 }],
] as const satisfies readonly (readonly [keyof typeof savedViewsTexts, LogsSearch])[];

/** Views of the list by name: open, save, link to and delete. */
export function SavedViews({ search, onClose }: { readonly search: LogsSearch; readonly onClose: () => void }) {
  const { id: userId } = useCurrentUser();
  const router = useRouter();
  const [views, setViews] = useState<readonly SavedView[]>(() => readViews(userId));
  const [name, setName] = useState("");
  const refresh = (): void => setViews(readViews(userId));
  const isFull = views.length >= VIEWS_MAX && !views.some((view) => view.name === name.trim());
  const save = (event: FormEvent): void => {
    event.preventDefault();
    const chosen = name.trim();
    if (chosen === "" || isFull) return;
    const isSaved = saveView(userId, { name: chosen, search: viewOf(search) });
    toast(isSaved ? { title: text("viewSaved", { name: chosen }) } : { title: text("viewNotSaved"), tone: "warn" });
    if (isSaved) setName("");
    refresh();
  };
  const copy = async (view: SavedView): Promise<void> => {
    const { href } = router.buildLocation({ to: "/logs", search: view.search });
    const link = `${location.origin}${href}`;
    try {
      await navigator.clipboard.writeText(link);
      toast({ title: text("viewCopied") });
    } catch {
      toast({ title: link, tone: "warn" });
    }
  };
  return (
    <>
      <h3>{text("viewsBuiltIn")}</h3>
      <ul>
        {BUILT_IN.map(([id, view]) => (
          <li key={id} className={classes["view"]}>
            <Link to="/logs" search={view} onClick={onClose}>
              {text(id)}
            </Link>
          </li>
        ))}
      </ul>
      <h3>{text("viewsOwn")}</h3>
      {views.length === 0 && <p>{text("viewsNone")}</p>}
      <ul>
        {views.map((view) => (
          <li key={view.name} className={classes["view"]}>
            <Link to="/logs" search={view.search} onClick={onClose}>
              <bdi>{view.name}</bdi>
            </Link>
            <IconButton label={text("copyView", { name: view.name })} onClick={() => void copy(view)}>
              <LinkIcon size={14} aria-hidden />
            </IconButton>
            <IconButton
              label={text("deleteView", { name: view.name })}
              onClick={() => {
                deleteView(userId, view.name);
                refresh();
              }}
            >
              <Trash2 size={14} aria-hidden />
            </IconButton>
          </li>
        ))}
      </ul>
      <form className={classes["save"]} onSubmit={save}>
        <TextField
          label={text("viewName")}
          hint={text("viewHint")}
          error={isFull ? text("viewsFull", { count: VIEWS_MAX }) : undefined}
          value={name}
          maxLength={VIEW_NAME_MAX}
          autoComplete="off"
          onChange={({ target }) => setName(target.value)}
        />
        <Button type="submit" disabled={name.trim() === "" || isFull}>
          {text("saveView")}
        </Button>
      </form>
    </>
  );
}
